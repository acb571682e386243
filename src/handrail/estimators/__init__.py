"""What is known about each action: means, linear over fixed arms, linear over contexts."""

"""What AutoClassifier is made of: an encoder of raw tables, members and their judges."""

"""What the estimators share: labels, parameters, fitted scores, trust."""

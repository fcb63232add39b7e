"""Zhang, Dai & Jordan (2012): coherence functions, C-learning and probabilities of a trained SVM."""

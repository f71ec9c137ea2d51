//! Talks to a Kubernetes API server: calls, watches and what they leave in memory. Decides nothing.

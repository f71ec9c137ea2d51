//! Patterns against objects.

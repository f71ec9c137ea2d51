//! Policies in CEL that make objects.

//! What policies in CEL say about objects.

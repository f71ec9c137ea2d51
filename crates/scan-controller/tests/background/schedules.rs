//! What is deleted by schedule or by age.

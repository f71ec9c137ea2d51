//! Expressions and what they find.

use super::*;

//! Behaviour, mostly as data.

use super::*;

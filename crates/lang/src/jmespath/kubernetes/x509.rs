pub(super) const TABLE: &[super::super::function::Builtin] = &[];

//! Result types of operators, as far as they are certain.

use crate::ast::CelOperator;
use crate::environment::CelType;
use crate::val::CelKind;

/// Returns the type of the result; nothing when the operator does not take these types.
pub(super) fn binary_result_type(operator: CelOperator, left: &CelType, right: &CelType) -> Option<CelType> {
    match operator {
        CelOperator::Add
        | CelOperator::Subtract
        | CelOperator::Multiply
        | CelOperator::Divide
        | CelOperator::Remainder => arithmetic_result_type(operator, left, right),
        CelOperator::Equal | CelOperator::NotEqual => {
            are_compatible_types(left, right).then_some(CelType::of(CelKind::Bool))
        }
        CelOperator::In => match right.kind {
            CelKind::Any | CelKind::Map => Some(CelType::of(CelKind::Bool)),
            CelKind::List => {
                are_compatible_types(left, &right.elements()).then_some(CelType::of(CelKind::Bool))
            }
            _ => None,
        },
        _ => are_ordered_kinds(left.kind, right.kind).then_some(CelType::of(CelKind::Bool)),
    }
}

/// Returns the type of arithmetic with an integer and a double, or of a comparison of both; nothing when the operands
/// are certainly not one of each.
pub(super) fn mixed_result_type(operator: CelOperator, left: CelKind, right: CelKind) -> Option<CelType> {
    let is_integer = |kind| matches!(kind, CelKind::Int | CelKind::UInt);
    let is_comparison = matches!(operator, CelOperator::Equal | CelOperator::NotEqual);
    match (left, right) {
        (CelKind::Double, other) | (other, CelKind::Double) if is_comparison && is_integer(other) => {
            Some(CelType::of(CelKind::Bool))
        }
        _ if !operator.is_arithmetic() => None,
        (CelKind::Double, other) | (other, CelKind::Double) if is_integer(other) || other == CelKind::Any => {
            Some(CelType::of(CelKind::Double))
        }
        (CelKind::Any, other) | (other, CelKind::Any) if is_integer(other) => Some(CelType::ANY),
        _ => None,
    }
}

fn arithmetic_result_type(operator: CelOperator, left: &CelType, right: &CelType) -> Option<CelType> {
    use CelKind::{Any, Bytes, Double, Duration, Int, List, String, Timestamp, UInt};
    let numbers = [(Int, Int, Int), (UInt, UInt, UInt), (Double, Double, Double)];
    let more: &[(CelKind, CelKind, CelKind)] = match operator {
        CelOperator::Add => &[
            (String, String, String),
            (Bytes, Bytes, Bytes),
            (List, List, List),
            (Timestamp, Duration, Timestamp),
            (Duration, Timestamp, Timestamp),
            (Duration, Duration, Duration),
        ],
        CelOperator::Subtract => &[
            (Timestamp, Timestamp, Duration),
            (Timestamp, Duration, Timestamp),
            (Duration, Duration, Duration),
        ],
        _ => &[],
    };
    let numbers = if operator == CelOperator::Remainder { &numbers[..2] } else { &numbers };
    let fits = |wanted: CelKind, found: CelKind| found == Any || wanted == found;
    let mut fitting =
        numbers.iter().chain(more).filter(|row| fits(row.0, left.kind) && fits(row.1, right.kind));
    let first = fitting.next()?.2;
    if fitting.any(|row| row.2 != first) {
        return Some(CelType::ANY);
    }
    if first == List {
        return Some(join_types(left, right)).map(|kind| match kind.kind {
            List => kind,
            _ => CelType::of(List),
        });
    }
    Some(CelType::of(first))
}

fn are_ordered_kinds(left: CelKind, right: CelKind) -> bool {
    use CelKind::{Any, Bool, Bytes, Double, Duration, Int, String, Timestamp, UInt};
    let orderable = [Any, Bool, Bytes, Double, Duration, Int, String, Timestamp, UInt];
    let is_number = |kind| matches!(kind, Int | UInt | Double);
    orderable.contains(&left)
        && orderable.contains(&right)
        && (left == Any || right == Any || left == right || (is_number(left) && is_number(right)))
}

/// Returns whether a value of one type may be compared with one of the other.
pub(super) fn are_compatible_types(left: &CelType, right: &CelType) -> bool {
    if left.kind == CelKind::Any || right.kind == CelKind::Any {
        return true;
    }
    if left.kind == right.kind {
        if let (Some(one), Some(other)) = (&left.structure, &right.structure) {
            return one == other;
        }
        return match (&left.element, &right.element) {
            (Some(left), Some(right)) => are_compatible_types(left, right),
            _ => true,
        };
    }
    let may_be_null = |kind| {
        matches!(kind, CelKind::Timestamp | CelKind::Duration | CelKind::Opaque(_) | CelKind::Optional)
    };
    match (left, right) {
        (null, other) | (other, null) if null.kind == CelKind::Null => {
            may_be_null(other.kind) || other.structure.is_some()
        }
        _ => false,
    }
}

/// Returns the type that covers both.
pub(super) fn join_types(left: &CelType, right: &CelType) -> CelType {
    if left == right {
        return left.clone();
    }
    match (left, right) {
        (null, other) | (other, null) if null.kind == CelKind::Null && other.structure.is_some() => {
            return other.clone();
        }
        _ if left.kind != right.kind => return CelType::ANY,
        _ => {}
    }
    match (&left.element, &right.element) {
        (Some(a), Some(b)) => CelType::with(left.kind, join_types(a, b)),
        _ => CelType::of(left.kind),
    }
}

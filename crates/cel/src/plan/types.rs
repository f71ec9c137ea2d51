//! What operators do to types, as far as it is certain.

use crate::ast::Operator;
use crate::environment::Type;
use crate::val::Kind;

/// Returns the type of the result; nothing when no operator takes these types.
pub(super) fn binary(operator: Operator, left: &Type, right: &Type) -> Option<Type> {
    match operator {
        Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder => {
            arithmetic(operator, left, right)
        }
        Operator::Equal | Operator::NotEqual => are_compatible(left, right).then_some(Type::of(Kind::Bool)),
        Operator::In => match right.kind {
            Kind::Any | Kind::Map => Some(Type::of(Kind::Bool)),
            Kind::List => are_compatible(left, &right.elements()).then_some(Type::of(Kind::Bool)),
            _ => None,
        },
        _ => is_ordered(left.kind, right.kind).then_some(Type::of(Kind::Bool)),
    }
}

/// Returns the type of a sum, a product and the like of an integer and a double, or of a comparison of both; nothing when
/// it is certain that there are not one of each.
pub(super) fn mixed(operator: Operator, left: Kind, right: Kind) -> Option<Type> {
    let is_integer = |kind| matches!(kind, Kind::Int | Kind::UInt);
    let is_comparison = matches!(operator, Operator::Equal | Operator::NotEqual);
    match (left, right) {
        (Kind::Double, other) | (other, Kind::Double) if is_comparison && is_integer(other) => {
            Some(Type::of(Kind::Bool))
        }
        _ if !operator.is_arithmetic() => None,
        (Kind::Double, other) | (other, Kind::Double) if is_integer(other) || other == Kind::Any => {
            Some(Type::of(Kind::Double))
        }
        (Kind::Any, other) | (other, Kind::Any) if is_integer(other) => Some(Type::ANY),
        _ => None,
    }
}

fn arithmetic(operator: Operator, left: &Type, right: &Type) -> Option<Type> {
    use Kind::{Any, Bytes, Double, Duration, Int, List, String, Timestamp, UInt};
    let numbers = [(Int, Int, Int), (UInt, UInt, UInt), (Double, Double, Double)];
    let more: &[(Kind, Kind, Kind)] = match operator {
        Operator::Add => &[
            (String, String, String),
            (Bytes, Bytes, Bytes),
            (List, List, List),
            (Timestamp, Duration, Timestamp),
            (Duration, Timestamp, Timestamp),
            (Duration, Duration, Duration),
        ],
        Operator::Subtract => &[
            (Timestamp, Timestamp, Duration),
            (Timestamp, Duration, Timestamp),
            (Duration, Duration, Duration),
        ],
        _ => &[],
    };
    let numbers = if operator == Operator::Remainder { &numbers[..2] } else { &numbers };
    let fits = |wanted: Kind, found: Kind| found == Any || wanted == found;
    let mut fitting =
        numbers.iter().chain(more).filter(|row| fits(row.0, left.kind) && fits(row.1, right.kind));
    let first = fitting.next()?.2;
    if fitting.any(|row| row.2 != first) {
        return Some(Type::ANY);
    }
    if first == List {
        return Some(join(left, right)).map(|kind| match kind.kind {
            List => kind,
            _ => Type::of(List),
        });
    }
    Some(Type::of(first))
}

fn is_ordered(left: Kind, right: Kind) -> bool {
    use Kind::{Any, Bool, Bytes, Double, Duration, Int, String, Timestamp, UInt};
    let orderable = [Any, Bool, Bytes, Double, Duration, Int, String, Timestamp, UInt];
    let is_number = |kind| matches!(kind, Int | UInt | Double);
    orderable.contains(&left)
        && orderable.contains(&right)
        && (left == Any || right == Any || left == right || (is_number(left) && is_number(right)))
}

/// Returns whether a value of one type may be compared with one of the other.
pub(super) fn are_compatible(left: &Type, right: &Type) -> bool {
    if left.kind == Kind::Any || right.kind == Kind::Any {
        return true;
    }
    if left.kind == right.kind {
        return match (&left.element, &right.element) {
            (Some(left), Some(right)) => are_compatible(left, right),
            _ => true,
        };
    }
    let may_be_null =
        |kind| matches!(kind, Kind::Timestamp | Kind::Duration | Kind::Opaque(_) | Kind::Optional);
    match (left.kind, right.kind) {
        (Kind::Null, other) | (other, Kind::Null) => may_be_null(other),
        _ => false,
    }
}

/// Returns the type of a value that is of one of both.
pub(super) fn join(left: &Type, right: &Type) -> Type {
    if left == right {
        return left.clone();
    }
    if left.kind != right.kind {
        return Type::ANY;
    }
    match (&left.element, &right.element) {
        (Some(a), Some(b)) => Type::with(left.kind, join(a, b)),
        _ => Type::of(left.kind),
    }
}

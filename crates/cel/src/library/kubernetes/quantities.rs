//! Kubernetes quantities.

mod small;

use std::any::Any;
use std::cmp::Ordering;

use kubewright_value::Value;
use kubewright_value::quantity::Quantity;
use small::Small;

use super::{Library, opaque, text};
use crate::cost::traversal;
use crate::environment::Macros;
use crate::error::Failure;
use crate::function::{Functions, Overload};
use crate::standard::size_of;
use crate::val::{Kind, Opaque, Val};

/// The library of quantities.
pub const QUANTITIES: Library =
    Library { name: "quantity", functions: add, macros: Macros::NONE, types: &[] };

const NAME: &str = "kubernetes.Quantity";
const RESULT: Kind = Kind::Opaque(NAME);
const ONE: &[Kind] = &[RESULT];
const TWO: &[Kind] = &[RESULT, RESULT];

/// A quantity, and how the API server holds it: whether it calls `1.0` an integer depends on that.
#[derive(Debug)]
struct Amount {
    quantity: Quantity,
    small: Option<Small>,
    /// How many decimals it is counted with.
    decimals: i64,
}

impl Opaque for Amount {
    fn type_name(&self) -> &'static str {
        NAME
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref().is_some_and(|other: &Self| self.quantity == other.quantity)
    }

    fn to_json(&self) -> Option<Value> {
        Some(Value::from(self.quantity.to_string()))
    }
}

impl Amount {
    fn parse(text: &str) -> Result<Self, Failure> {
        match Quantity::parse(text) {
            Ok(quantity) => {
                let small = Small::parse(text);
                let decimals = small.map_or_else(|| small::decimals(&quantity), |small| -small.scale);
                Ok(Self { quantity, small, decimals })
            }
            Err(error) => Err(Failure::value(format!("`{text}` is no quantity: {error}"))),
        }
    }

    fn from_integer(value: i64) -> Self {
        Self { quantity: Quantity::from_i64(value), small: Some(Small { value, scale: 0 }), decimals: 0 }
    }

    fn plus(&self, other: &Self) -> Result<Self, Failure> {
        let sum = self.quantity.add(&other.quantity);
        let quantity = sum.ok_or_else(|| Failure::value("the sum has too many digits for a quantity"))?;
        let small = self.small.zip(other.small).and_then(|(a, b)| a.plus(b));
        Ok(Self { quantity, small, decimals: self.decimals.max(other.decimals) })
    }

    fn minus(&self, other: &Self) -> Result<Self, Failure> {
        let small = other.small.and_then(Small::negated);
        self.plus(&Self { quantity: other.quantity.neg(), small, decimals: other.decimals })
    }

    fn as_integer(&self) -> Option<i64> {
        self.small.and_then(Small::as_integer)
    }

    fn as_double(&self) -> f64 {
        match self.small {
            Some(small) => small.as_double(),
            None => small::large_as_double(&self.quantity, self.decimals),
        }
    }
}

fn add(functions: &mut Functions) {
    reading(functions);
    functions.add(
        Overload::method("isGreaterThan", TWO, Kind::Bool, |arguments, _| {
            order(arguments).map(|order| Val::Bool(order == Ordering::Greater))
        })
        .help("whether a quantity is larger than another"),
    );
    functions.add(
        Overload::method("isLessThan", TWO, Kind::Bool, |arguments, _| {
            order(arguments).map(|order| Val::Bool(order == Ordering::Less))
        })
        .help("whether a quantity is smaller than another"),
    );
    functions.add(
        Overload::method("compareTo", TWO, Kind::Int, |arguments, _| {
            order(arguments).map(|order| Val::Int(order as i64))
        })
        .help("-1, 0 or 1: whether a quantity is smaller than, equal to or larger than another"),
    );
    for parameters in [TWO, &[RESULT, Kind::Int]] {
        functions.add(
            Overload::method("add", parameters, RESULT, |arguments, _| {
                with_other(arguments, Amount::plus).map(Val::opaque)
            })
            .help("a quantity plus another, or an integer"),
        );
        functions.add(
            Overload::method("sub", parameters, RESULT, |arguments, _| {
                with_other(arguments, Amount::minus).map(Val::opaque)
            })
            .help("a quantity minus another, or an integer"),
        );
    }
}

fn reading(functions: &mut Functions) {
    functions.add(
        Overload::function("quantity", &[Kind::String], RESULT, |arguments, _| {
            Ok(Val::opaque(Amount::parse(text(arguments, 0)?)?))
        })
        .cost(|arguments, _| traversal(size_of(arguments, 0)))
        .help("the quantity that a text is, such as `100m` or `1.5Gi`"),
    );
    functions.add(
        Overload::function("isQuantity", &[Kind::String], Kind::Bool, |arguments, _| {
            Ok(Val::Bool(Quantity::parse(text(arguments, 0)?).is_ok()))
        })
        .cost(|arguments, _| traversal(size_of(arguments, 0)))
        .help("whether a text is a quantity"),
    );
    functions.add(
        Overload::function("sign", ONE, Kind::Int, |arguments, _| {
            Ok(Val::Int(i64::from(opaque::<Amount>(arguments, 0)?.quantity.sign())))
        })
        .help("-1, 0 or 1"),
    );
    functions.add(
        Overload::method("asInteger", ONE, Kind::Int, |arguments, _| {
            let integer = opaque::<Amount>(arguments, 0)?.as_integer();
            integer.map(Val::Int).ok_or_else(|| Failure::value("cannot convert value to integer"))
        })
        .help("a quantity as an integer, or an error"),
    );
    functions.add(
        Overload::method("isInteger", ONE, Kind::Bool, |arguments, _| {
            Ok(Val::Bool(opaque::<Amount>(arguments, 0)?.as_integer().is_some()))
        })
        .help("whether `asInteger` has a result"),
    );
    functions.add(
        Overload::method("asApproximateFloat", ONE, Kind::Double, |arguments, _| {
            Ok(Val::Double(opaque::<Amount>(arguments, 0)?.as_double()))
        })
        .help("a quantity as a double, which may be inexact"),
    );
}

fn order(arguments: &[Val<'_>]) -> Result<Ordering, Failure> {
    Ok(opaque::<Amount>(arguments, 0)?.quantity.cmp(&opaque::<Amount>(arguments, 1)?.quantity))
}

fn with_other(
    arguments: &[Val<'_>],
    compute: fn(&Amount, &Amount) -> Result<Amount, Failure>,
) -> Result<Amount, Failure> {
    let amount = opaque::<Amount>(arguments, 0)?;
    match arguments.get(1) {
        Some(Val::Int(value)) => compute(amount, &Amount::from_integer(*value)),
        _ => compute(amount, opaque::<Amount>(arguments, 1)?),
    }
}

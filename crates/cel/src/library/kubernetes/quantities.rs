//! Kubernetes quantities.

mod small;

use std::any::Any;
use std::cmp::Ordering;

use kubewright_value::Value;
use kubewright_value::quantity::Quantity;
use small::SmallQuantity;

use super::{CelLibrary, opaque_argument, text_argument};
use crate::cost::traversal_cost;
use crate::environment::MacroSet;
use crate::error::CelFailure;
use crate::function::{CelFunctions, CelOverload};
use crate::standard::size_of;
use crate::val::{CelKind, Opaque, Val};

/// The library of quantities.
pub const QUANTITIES: CelLibrary =
    CelLibrary { name: "quantity", functions: add_quantity_functions, macros: MacroSet::NONE, types: &[] };

const QUANTITY_TYPE_NAME: &str = "kubernetes.Quantity";
const QUANTITY: CelKind = CelKind::Opaque(QUANTITY_TYPE_NAME);
const ONE_QUANTITY: &[CelKind] = &[QUANTITY];
const TWO_QUANTITIES: &[CelKind] = &[QUANTITY, QUANTITY];

/// A quantity in the API server's representation, which decides whether `1.0` is an integer.
#[derive(Debug)]
struct QuantityVal {
    quantity: Quantity,
    small: Option<SmallQuantity>,
    /// The decimal places of the representation.
    decimals: i64,
}

impl Opaque for QuantityVal {
    fn type_name(&self) -> &'static str {
        QUANTITY_TYPE_NAME
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

impl QuantityVal {
    fn parse(text: &str) -> Result<Self, CelFailure> {
        match Quantity::parse(text) {
            Ok(quantity) => {
                let small = SmallQuantity::parse(text);
                let decimals = small.map_or_else(|| small::count_decimals(&quantity), |small| -small.scale);
                Ok(Self { quantity, small, decimals })
            }
            Err(error) => Err(CelFailure::value(format!("`{text}` is not a quantity: {error}"))),
        }
    }

    fn from_integer(value: i64) -> Self {
        Self {
            quantity: Quantity::from_i64(value),
            small: Some(SmallQuantity { value, scale: 0 }),
            decimals: 0,
        }
    }

    fn plus(&self, other: &Self) -> Result<Self, CelFailure> {
        let sum = self.quantity.add(&other.quantity);
        let quantity = sum.ok_or_else(|| CelFailure::value("the sum has too many digits for a quantity"))?;
        let small = self.small.zip(other.small).and_then(|(a, b)| a.plus(b));
        Ok(Self { quantity, small, decimals: self.decimals.max(other.decimals) })
    }

    fn minus(&self, other: &Self) -> Result<Self, CelFailure> {
        let small = other.small.and_then(SmallQuantity::negated);
        self.plus(&Self { quantity: other.quantity.neg(), small, decimals: other.decimals })
    }

    fn as_integer(&self) -> Option<i64> {
        self.small.and_then(SmallQuantity::as_integer)
    }

    fn as_double(&self) -> f64 {
        match self.small {
            Some(small) => small.as_double(),
            None => small::large_quantity_to_double(&self.quantity, self.decimals),
        }
    }
}

fn add_quantity_functions(functions: &mut CelFunctions) {
    add_quantity_conversions(functions);
    functions.add(
        CelOverload::method("isGreaterThan", TWO_QUANTITIES, CelKind::Bool, |arguments, _| {
            order_quantities(arguments).map(|order| Val::Bool(order == Ordering::Greater))
        })
        .help("whether a quantity is larger than another"),
    );
    functions.add(
        CelOverload::method("isLessThan", TWO_QUANTITIES, CelKind::Bool, |arguments, _| {
            order_quantities(arguments).map(|order| Val::Bool(order == Ordering::Less))
        })
        .help("whether a quantity is smaller than another"),
    );
    functions.add(
        CelOverload::method("compareTo", TWO_QUANTITIES, CelKind::Int, |arguments, _| {
            order_quantities(arguments).map(|order| Val::Int(order as i64))
        })
        .help("-1, 0 or 1: whether a quantity is smaller than, equal to or larger than another"),
    );
    for parameters in [TWO_QUANTITIES, &[QUANTITY, CelKind::Int]] {
        functions.add(
            CelOverload::method("add", parameters, QUANTITY, |arguments, _| {
                combine_quantities(arguments, QuantityVal::plus).map(Val::opaque)
            })
            .help("a quantity plus another, or an integer"),
        );
        functions.add(
            CelOverload::method("sub", parameters, QUANTITY, |arguments, _| {
                combine_quantities(arguments, QuantityVal::minus).map(Val::opaque)
            })
            .help("a quantity minus another, or an integer"),
        );
    }
}

fn add_quantity_conversions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::function("quantity", &[CelKind::String], QUANTITY, |arguments, _| {
            Ok(Val::opaque(QuantityVal::parse(text_argument(arguments, 0)?)?))
        })
        .cost(|arguments, _| traversal_cost(size_of(arguments, 0)))
        .help("the quantity that a text is, such as `100m` or `1.5Gi`"),
    );
    functions.add(
        CelOverload::function("isQuantity", &[CelKind::String], CelKind::Bool, |arguments, _| {
            Ok(Val::Bool(Quantity::parse(text_argument(arguments, 0)?).is_ok()))
        })
        .cost(|arguments, _| traversal_cost(size_of(arguments, 0)))
        .help("whether a text is a quantity"),
    );
    functions.add(
        CelOverload::function("sign", ONE_QUANTITY, CelKind::Int, |arguments, _| {
            Ok(Val::Int(i64::from(opaque_argument::<QuantityVal>(arguments, 0)?.quantity.sign())))
        })
        .help("-1, 0 or 1"),
    );
    functions.add(
        CelOverload::method("asInteger", ONE_QUANTITY, CelKind::Int, |arguments, _| {
            let integer = opaque_argument::<QuantityVal>(arguments, 0)?.as_integer();
            integer.map(Val::Int).ok_or_else(|| CelFailure::value("cannot convert value to integer"))
        })
        .help("a quantity as an integer, or an error"),
    );
    functions.add(
        CelOverload::method("isInteger", ONE_QUANTITY, CelKind::Bool, |arguments, _| {
            Ok(Val::Bool(opaque_argument::<QuantityVal>(arguments, 0)?.as_integer().is_some()))
        })
        .help("whether `asInteger` has a result"),
    );
    functions.add(
        CelOverload::method("asApproximateFloat", ONE_QUANTITY, CelKind::Double, |arguments, _| {
            Ok(Val::Double(opaque_argument::<QuantityVal>(arguments, 0)?.as_double()))
        })
        .help("a quantity as a double, which may be inexact"),
    );
}

fn order_quantities(arguments: &[Val<'_>]) -> Result<Ordering, CelFailure> {
    Ok(opaque_argument::<QuantityVal>(arguments, 0)?
        .quantity
        .cmp(&opaque_argument::<QuantityVal>(arguments, 1)?.quantity))
}

fn combine_quantities(
    arguments: &[Val<'_>],
    compute: fn(&QuantityVal, &QuantityVal) -> Result<QuantityVal, CelFailure>,
) -> Result<QuantityVal, CelFailure> {
    let amount = opaque_argument::<QuantityVal>(arguments, 0)?;
    match arguments.get(1) {
        Some(Val::Int(value)) => compute(amount, &QuantityVal::from_integer(*value)),
        _ => compute(amount, opaque_argument::<QuantityVal>(arguments, 1)?),
    }
}

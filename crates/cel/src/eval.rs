//! Evaluation of a plan.
//!
//! The nesting of a plan is bounded when it is made, so the recursion here is too. Every node charges
//! what the API server charges for it.

mod fold;
mod operators;
mod path;

use std::sync::{Arc, LazyLock};

use kubewright_value::{Map, Text, Value};

use super::bindings::CelBindings;
use super::cost::CelCost;
use super::error::{CelErrorKind, CelFailure};
use super::function::{CelCallContext, PatternCache};
use super::plan::{CelPlan, PlannedBinary, PlannedBinding, PlannedCall, PlannedElement, PlannedStructure};
use super::val::{ListVal, MapEntries, MapVal, Val};

pub(super) use path::read_item;

/// The cost of making a list.
const LIST_COST: u64 = 10;

/// The cost of making a map.
const MAP_COST: u64 = 30;

/// The cost of making a value of a structure.
const STRUCTURE_COST: u64 = 40;

/// The empty list, shared so that `[]` does not allocate.
static NO_ITEMS: LazyLock<Arc<Vec<Value>>> = LazyLock::new(Arc::default);

/// The macro variables and root objects that are stored inline, without the heap.
const INLINE_SLOTS: usize = 4;

/// The value of a node, or an error.
type CelResult<'a> = Result<Val<'a>, CelFailure>;

/// One evaluation.
pub(super) struct CelEvaluator<'r, 'a> {
    bindings: &'r CelBindings<'a>,
    variables: &'r [Text],
    locals: [Val<'a>; INLINE_SLOTS],
    more_locals: Vec<Val<'a>>,
    /// The objects of the first variables, cached when they are first read.
    roots: [Option<&'a Arc<Map>>; INLINE_SLOTS],
    cost: &'r mut CelCost,
    patterns: PatternCache,
    /// Whether an optional field of a scalar is empty instead of an error.
    is_forgiving: bool,
}

impl<'r, 'a> CelEvaluator<'r, 'a> {
    pub(super) fn new(
        bindings: &'r CelBindings<'a>,
        variables: &'r [Text],
        slots: u32,
        cost: &'r mut CelCost,
    ) -> Self {
        let more_locals = vec![Val::Null; (slots as usize).saturating_sub(INLINE_SLOTS)];
        let locals = [const { Val::Null }; INLINE_SLOTS];
        Self {
            bindings,
            variables,
            locals,
            more_locals,
            roots: [None; INLINE_SLOTS],
            cost,
            patterns: PatternCache::default(),
            is_forgiving: false,
        }
    }

    pub(super) fn forgiving(self, is_forgiving: bool) -> Self {
        Self { is_forgiving, ..self }
    }

    pub(super) fn eval(&mut self, plan: &'a CelPlan) -> CelResult<'a> {
        match plan {
            CelPlan::Constant(value, cost) => {
                self.cost.charge(*cost)?;
                Ok(borrow_constant(value))
            }
            // Reading fields of the result of a conditional is free.
            CelPlan::Path(path) if matches!(path.root, CelPlan::Conditional(..)) => self.path(path),
            CelPlan::Variable(..) | CelPlan::Local(_) | CelPlan::Path(_) => {
                self.cost.charge(1)?;
                self.attribute(plan)
            }
            CelPlan::Has(path) => self.has(path).map(Val::Bool),
            CelPlan::And(..) | CelPlan::Or(..) | CelPlan::Not(..) => self.condition(plan).map(Val::Bool),
            CelPlan::Negate(operand, at) => {
                let value = self.eval(operand)?;
                self.cost.charge(1)?;
                operators::negate_val(&value).map_err(|failure| failure.at(*at))
            }
            CelPlan::Binary(binary) if binary.sign.operator.is_test() => {
                self.comparison(binary).map(Val::Bool)
            }
            CelPlan::Binary(binary) => {
                let left = self.eval(&binary.left)?;
                let right = self.eval(&binary.right)?;
                self.binary(binary.sign, left, right).map_err(|failure| failure.at(binary.sign.at))
            }
            CelPlan::Chain(first, rest) => {
                let mut value = self.eval(first)?;
                for (sign, operand) in rest {
                    let right = self.eval(operand)?;
                    value = self.binary(*sign, value, right).map_err(|failure| failure.at(sign.at))?;
                }
                Ok(value)
            }
            CelPlan::Conditional(parts, at) => {
                let [condition, then, otherwise] = &**parts;
                match self.eval(condition)? {
                    Val::Bool(true) => self.attribute(then),
                    Val::Bool(false) => self.attribute(otherwise),
                    other => Err(condition_error(&other).at(*at)),
                }
            }
            CelPlan::List(parts) => self.list(parts),
            CelPlan::Map(entries, at) => self.map(entries, *at),
            CelPlan::Structure(structure) => self.structure(structure),
            CelPlan::Call(calling) => self.call(calling),
            CelPlan::Fold(fold) => self.fold(fold),
            CelPlan::Bind(bind) => self.bind(bind),
            CelPlan::OptionalMap(bind, is_flat) => self.optional_map(bind, *is_flat),
            CelPlan::OptionalOr(parts, at) => match self.optional(&parts.0, *at)? {
                Val::Optional(None) => self.optional(&parts.1, *at),
                some => Ok(some),
            },
            CelPlan::OptionalOrValue(parts, at) => self.or_value(parts, Some(*at)),
            CelPlan::PlainOrValue(parts) => self.or_value(parts, None),
            CelPlan::Fail(failure) => Err(failure.clone()),
        }
    }

    /// Evaluates a node, but does not charge for it if it is a variable or a path: it is part of a larger one.
    #[inline]
    fn attribute(&mut self, plan: &'a CelPlan) -> CelResult<'a> {
        match plan {
            CelPlan::Variable(index, at) => self.variable(*index).map_err(|failure| failure.at(*at)),
            CelPlan::Local(slot) => Ok(self.local(*slot)),
            CelPlan::Path(path) => self.path(path),
            other => self.eval(other),
        }
    }

    /// Evaluates a node that must be a boolean.
    #[inline]
    fn condition(&mut self, plan: &'a CelPlan) -> Result<bool, CelFailure> {
        match plan {
            CelPlan::And(parts, at) => self.decide(parts, false, *at),
            CelPlan::Or(parts, at) => self.decide(parts, true, *at),
            CelPlan::Not(operand, at) => {
                let holds = self.condition(operand).map_err(|failure| failure.at(*at))?;
                self.cost.charge(1)?;
                Ok(!holds)
            }
            CelPlan::Has(path) => self.has(path),
            CelPlan::Binary(binary) if binary.sign.operator.is_test() => self.comparison(binary),
            plan => match self.eval(plan)? {
                Val::Bool(value) => Ok(value),
                other => Err(condition_error(&other)),
            },
        }
    }

    /// Evaluates an operator whose result is a boolean. Most are on a constant, which is not copied.
    fn comparison(&mut self, binary: &'a PlannedBinary) -> Result<bool, CelFailure> {
        let sign = binary.sign;
        let left = self.eval(&binary.left)?;
        let result = match &binary.right {
            CelPlan::Constant(right, cost) if !sign.is_mixed => {
                self.cost.charge(*cost)?;
                self.test(sign, &left, right)
            }
            right => {
                let right = self.eval(right)?;
                match self.binary(sign, left, right) {
                    Ok(Val::Bool(holds)) => Ok(holds),
                    Ok(other) => Err(condition_error(&other)),
                    Err(failure) => Err(failure),
                }
            }
        };
        result.map_err(|failure| failure.at(sign.at))
    }

    /// Returns `decisive` if one of the parts has that value, even when others fail.
    fn decide(&mut self, parts: &'a [CelPlan], decisive: bool, at: u32) -> Result<bool, CelFailure> {
        let mut failed = None;
        for part in parts {
            match self.condition(part) {
                Ok(value) if value == decisive => return Ok(decisive),
                Ok(_) => {}
                Err(failure) if failure.is_limit() => return Err(failure),
                Err(failure) => {
                    failed.get_or_insert(failure);
                }
            }
        }
        failed.map_or(Ok(!decisive), |failure| Err(failure.at(at)))
    }

    fn variable(&mut self, index: u32) -> CelResult<'a> {
        if let Some(Some(known)) = self.roots.get(index as usize) {
            return Ok(Val::Map(MapVal::Borrowed(known)));
        }
        self.find(index)
    }

    fn find(&mut self, index: u32) -> CelResult<'a> {
        let name = self.variables.get(index as usize).map_or("", Text::as_str);
        let value = self.bindings.find(name)?.ok_or_else(|| {
            CelFailure::new(
                CelErrorKind::Unbound,
                format!("no such attribute: the variable `{name}` is not bound"),
            )
        })?;
        if let (Some(root), Val::Map(MapVal::Borrowed(map))) = (self.roots.get_mut(index as usize), &value) {
            *root = Some(map);
        }
        Ok(value)
    }

    fn local(&self, slot: u32) -> Val<'a> {
        let slot = slot as usize;
        self.locals
            .get(slot)
            .or_else(|| self.more_locals.get(slot - INLINE_SLOTS))
            .cloned()
            .unwrap_or_default()
    }

    fn set(&mut self, slot: u32, value: Val<'a>) {
        let slot = slot as usize;
        let local = self.locals.get_mut(slot).or_else(|| self.more_locals.get_mut(slot - INLINE_SLOTS));
        if let Some(local) = local {
            *local = value;
        }
    }

    fn list(&mut self, parts: &'a [PlannedElement]) -> CelResult<'a> {
        if parts.is_empty() {
            self.cost.charge(LIST_COST)?;
            return Ok(Val::List(ListVal::Borrowed(&NO_ITEMS)));
        }
        let mut items = Vec::with_capacity(parts.len());
        for part in parts {
            if let Some(value) = self.part(part)? {
                items.push(value);
            }
        }
        self.cost.charge(LIST_COST)?;
        Ok(Val::list(items))
    }

    fn map(&mut self, parts: &'a [(CelPlan, PlannedElement)], at: u32) -> CelResult<'a> {
        let mut entries = MapEntries::new();
        for (key, part) in parts {
            let key = self.eval(key)?;
            let Some(value) = self.part(part)? else { continue };
            insert_entry(&mut entries, key, value).map_err(|failure| failure.at(part.at))?;
        }
        self.cost.charge(MAP_COST).map_err(|exceeded| CelFailure::from(exceeded).at(at))?;
        Ok(Val::Map(MapVal::Made(entries.into())))
    }

    fn structure(&mut self, structure: &'a PlannedStructure) -> CelResult<'a> {
        let mut entries = MapEntries::new().named(Some(structure.name.clone()));
        for (field, part) in &structure.fields {
            let Some(value) = self.part(part)? else { continue };
            let key = Val::String(std::borrow::Cow::Borrowed(field));
            insert_entry(&mut entries, key, value).map_err(|failure| failure.at(part.at))?;
        }
        self.cost.charge(STRUCTURE_COST).map_err(|exceeded| CelFailure::from(exceeded).at(structure.at))?;
        Ok(Val::Map(MapVal::Made(entries.into())))
    }

    fn part(&mut self, part: &'a PlannedElement) -> Result<Option<Val<'a>>, CelFailure> {
        if !part.is_optional {
            return self.eval(&part.plan).map(Some);
        }
        match self.optional(&part.plan, part.at)? {
            Val::Optional(value) => Ok(value.map(|value| (*value).clone())),
            _ => Ok(None),
        }
    }

    /// Evaluates a node that must be an optional.
    fn optional(&mut self, plan: &'a CelPlan, at: u32) -> CelResult<'a> {
        match self.eval(plan)? {
            value @ Val::Optional(_) => Ok(value),
            other => Err(optional_error(&other).at(at)),
        }
    }

    /// Evaluates `a.?b.orValue(c)`. With `at`, `a.?b` must be an optional, and an error has this position. Most calls
    /// are on a path, which is read without making an optional.
    fn or_value(&mut self, parts: &'a (CelPlan, CelPlan), at: Option<u32>) -> CelResult<'a> {
        let found = match &parts.0 {
            CelPlan::Path(path) if !matches!(path.root, CelPlan::Conditional(..)) => {
                self.cost.charge(1)?;
                match self.found(path)? {
                    (Some(value), true) => {
                        self.cost.charge(u64::from(at.is_none()))?;
                        return Ok(value);
                    }
                    (Some(value), false) => value,
                    (None, _) => Val::Optional(None),
                }
            }
            other => self.eval(other)?,
        };
        // Where the receiver may be a plain value, `orValue` is a function and costs as one.
        self.cost.charge(u64::from(at.is_none()))?;
        match (found, at) {
            (Val::Optional(Some(value)), _) => Ok((*value).clone()),
            (Val::Optional(None), _) => self.eval(&parts.1),
            (plain, None) => Ok(plain),
            (other, Some(at)) => Err(optional_error(&other).at(at)),
        }
    }

    fn bind(&mut self, bind: &'a PlannedBinding) -> CelResult<'a> {
        let value = self.eval(&bind.value)?;
        self.set(bind.slot, value);
        self.eval(&bind.body)
    }

    /// The API server sees `a.optMap(x, b)` as `a.hasValue() ? optional.of(b) : optional.none()`, where `x` is
    /// `a.value()`, and charges for all of it.
    fn optional_map(&mut self, bind: &'a PlannedBinding, is_flat: bool) -> CelResult<'a> {
        let before = self.cost.used();
        let value = self.optional(&bind.value, bind.at)?;
        let again = self.cost.used() - before;
        let Val::Optional(Some(value)) = value else {
            self.cost.charge(2)?;
            return Ok(Val::Optional(None));
        };
        self.cost.charge(again + 2 + u64::from(!is_flat))?;
        self.set(bind.slot, (*value).clone());
        if is_flat { self.optional(&bind.body, bind.at) } else { self.eval(&bind.body).map(Val::some) }
    }

    fn call(&mut self, calling: &'a PlannedCall) -> CelResult<'a> {
        match &*calling.arguments {
            [] => self.apply(calling, &[]),
            [a] => {
                let arguments = [self.eval(a)?];
                self.apply(calling, &arguments)
            }
            [a, b] => {
                let arguments = [self.eval(a)?, self.eval(b)?];
                self.apply(calling, &arguments)
            }
            all => {
                let mut arguments = Vec::with_capacity(all.len());
                for argument in all {
                    arguments.push(self.eval(argument)?);
                }
                self.apply(calling, &arguments)
            }
        }
    }

    fn apply(&mut self, calling: &'a PlannedCall, arguments: &[Val<'a>]) -> CelResult<'a> {
        let accepts = |overload: &&Arc<super::CelOverload>| overload.accepts(arguments.iter().map(Val::kind));
        let Some(overload) = calling.overloads.iter().find(accepts) else {
            let found: Vec<&str> = arguments.iter().map(Val::type_name).collect();
            let message = format!("`{}` does not take `{}`", calling.name, found.join(", "));
            return Err(overload_error(&message).at(calling.at));
        };
        // A function that the API server charges 1 for may still read all of a long string.
        let long: usize = arguments.iter().map(Val::long_text).sum();
        if long > 0 {
            self.cost.work(long)?;
        }
        let mut call = CelCallContext {
            cost: self.cost,
            regex: calling.regex.as_deref(),
            patterns: &self.patterns,
            host: self.bindings.host(),
            inputs: self.bindings.inputs(),
        };
        let is_known = calling.overloads.len() == 1;
        overload.call(arguments, &mut call, is_known).map_err(|failure| failure.at(calling.at))
    }
}

/// Adds an entry to a map that is being made.
fn insert_entry<'a>(entries: &mut MapEntries<'a>, key: Val<'a>, value: Val<'a>) -> Result<(), CelFailure> {
    if !matches!(key, Val::Bool(_) | Val::Int(_) | Val::UInt(_) | Val::String(_)) {
        return Err(CelFailure::type_error(format!("unsupported key type: `{}`", key.type_name())));
    }
    let name = format!("{key:?}");
    if entries.insert(key, value) { Ok(()) } else { Err(CelFailure::value(format!("repeated key: {name}"))) }
}

fn borrow_constant<'a>(value: &'a Val<'static>) -> Val<'a> {
    match value {
        Val::String(text) => Val::String(std::borrow::Cow::Borrowed(text.as_ref())),
        other => other.clone(),
    }
}

fn overload_error(why: &str) -> CelFailure {
    CelFailure::type_error(format!("no such overload: {why}"))
}

fn optional_error(found: &Val<'_>) -> CelFailure {
    overload_error(&format!("an optional is needed, found `{}`", found.type_name()))
}

fn condition_error(found: &Val<'_>) -> CelFailure {
    overload_error(&format!("a condition must be a `bool`, found `{}`", found.type_name()))
}

//! Where the paths of a rule lead to in CEL.

use std::cell::RefCell;
use std::rc::Rc;

use kubewright_value::{Text, Value};

use super::formula::Formula;
use super::reading::{PathExpression, PathExpressionStep, PathRoot};
use super::shape::ValueShape;
use super::text::{MapField, element_name};

/// The CEL expressions of the variables at one place of a rule.
#[derive(Debug, Clone)]
pub(super) struct TranslationScope {
    /// How the object is written, which is another one on deletions.
    pub(super) object: String,
    pub(super) shape: ValueShape,
    /// The element of the loop.
    pub(super) element: Option<(String, ValueShape)>,
    /// The lists that were put together of others.
    lists: Rc<RefCell<Vec<String>>>,
}

/// The target of a path.
#[derive(Debug, Clone)]
pub(super) enum PathTarget {
    One(SingleValue),
    Many(ListElements),
}

/// A value.
#[derive(Debug, Clone)]
pub(super) struct SingleValue {
    pub(super) value: String,
    pub(super) shape: ValueShape,
    /// Whether something is there, which may be null.
    pub(super) there: Formula,
    /// Whether an object on the way lacks the key; otherwise the value is missing because its parent is not an object.
    pub(super) missing: Formula,
    /// The path with `.?`, where every step leads through objects.
    pub(super) optional: Option<String>,
}

/// The elements of nested lists, with a path below each.
#[derive(Debug, Clone)]
pub(super) struct ListElements {
    /// The lists, outermost first, each with the guard of reading it.
    loops: Vec<(Formula, String, String)>,
    pub(super) item: String,
    pub(super) shape: ValueShape,
    guard: Formula,
}

impl ListElements {
    /// Returns whether `each` holds of every item.
    pub(super) fn all(&self, each: Formula) -> Formula {
        self.exists(each.not()).not()
    }

    /// Returns the list of the items, for being counted, where they are below the elements of one list.
    pub(super) fn counted(&self) -> Option<SingleValue> {
        let [(guard, list, name)] = self.loops.as_slice() else { return None };
        let value = match &self.guard {
            Formula::True => list.clone(),
            guard => format!("{list}.filter({name}, {})", guard.written().replace('\n', " ")),
        };
        let shape = ValueShape::List(&ValueShape::Any);
        Some(SingleValue { value, shape, there: guard.clone(), missing: Formula::False, optional: None })
    }

    /// Returns whether there is an item of which `each` holds.
    pub(super) fn exists(&self, each: Formula) -> Formula {
        let inner = self.guard.clone().and(each);
        self.loops
            .iter()
            .rev()
            .fold(inner, |inner, (guard, list, name)| guard.clone().and(Formula::exists(list, name, inner)))
    }
}

impl From<SingleValue> for ListElements {
    /// The elements of a list.
    fn from(one: SingleValue) -> Self {
        let item = element_name(one.last_key(), &[]);
        let shape = one.shape.element();
        let (guard, list) = match one.optional {
            Some(optional) if is_optional(&optional) => (Formula::True, format!("{optional}.orValue([])")),
            _ => (one.there, one.value),
        };
        Self { loops: vec![(guard, list, item.clone())], item, shape, guard: Formula::True }
    }
}

impl TranslationScope {
    /// Returns the scope outside of loops in which `object` is how the object is written.
    pub(super) fn new(object: &str, shape: ValueShape) -> Self {
        Self { object: object.to_owned(), shape, element: None, lists: Rc::default() }
    }

    /// Returns the scope in a loop over `elements`.
    pub(super) fn with_element(&self, elements: &ListElements) -> Self {
        Self { element: Some((elements.item.clone(), elements.shape)), ..self.clone() }
    }

    /// Returns the lists that were put together of others, each with a name for it.
    pub(super) fn names(&self) -> Vec<(String, Text)> {
        let lists = self.lists.borrow();
        let name = |index: usize| match index {
            0 => "containers".to_owned(),
            more => format!("containers{}", more + 1),
        };
        lists.iter().enumerate().map(|(index, list)| (list.clone(), name(index).into())).collect()
    }

    /// Returns the target of `reading`; `None` when it cannot be expressed in CEL.
    pub(super) fn find(&self, reading: &PathExpression) -> Option<PathTarget> {
        let (text, shape) = match reading.root {
            PathRoot::Object => (self.object.clone(), self.shape),
            PathRoot::OldObject => ("oldObject".to_owned(), self.shape),
            PathRoot::Element => self.element.clone()?,
            PathRoot::Request => ("request".to_owned(), REQUEST_SHAPE),
        };
        // Without an old object everything in it is null.
        let is_old = reading.root == PathRoot::OldObject;
        let mut one = SingleValue {
            optional: (!is_old).then(|| text.clone()),
            there: if is_old { Formula::compare("oldObject", "!=", "null") } else { Formula::True },
            value: text,
            shape,
            missing: Formula::False,
        };
        let mut loops: Vec<(Formula, String, String)> = Vec::new();
        let mut steps = reading.steps.iter().peekable();
        let mut last_key = "";
        while let Some(step) = steps.next() {
            match step {
                PathExpressionStep::Key(key) => {
                    one = one.below(key);
                    last_key = key;
                }
                // Flattening a list of scalars changes nothing.
                PathExpressionStep::Flatten
                    if one.shape.is_list() && loops.is_empty() && steps.peek().is_none() =>
                {
                    one.missing = Formula::False;
                }
                PathExpressionStep::Flatten if one.shape.is_list() => {
                    let mut taken: Vec<String> = loops.iter().map(|(_, _, name)| name.clone()).collect();
                    taken.extend(self.element.iter().map(|(name, _)| name.clone()));
                    let name = element_name(last_key, &taken);
                    loops.push((one.there, one.value, name.clone()));
                    one = SingleValue::element(name, &one.shape);
                }
                PathExpressionStep::Several(keys) => {
                    matches!(steps.next(), Some(PathExpressionStep::Flatten)).then_some(())?;
                    one = one.several(keys)?;
                    let mut lists = self.lists.borrow_mut();
                    if !lists.contains(&one.value) {
                        lists.push(one.value.clone());
                    }
                    drop(lists);
                    last_key = "containers";
                    if steps.peek().is_some() {
                        let name = element_name(last_key, &[]);
                        loops.push((one.there, one.value, name.clone()));
                        one = SingleValue::element(name, &one.shape);
                    }
                }
                PathExpressionStep::Flatten => return None,
            }
        }
        if loops.is_empty() {
            return Some(PathTarget::One(one));
        }
        Some(PathTarget::Many(ListElements { loops, item: one.value, shape: one.shape, guard: one.there }))
    }
}

impl SingleValue {
    /// Returns an element, called `name`, of a list of this shape.
    fn element(name: String, list: &ValueShape) -> Self {
        Self {
            optional: Some(name.clone()),
            value: name,
            shape: list.element(),
            there: Formula::True,
            missing: Formula::False,
        }
    }

    fn last_key(&self) -> &str {
        let key = self.value.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let key = key.strip_suffix(".orValue([").unwrap_or(key);
        if self.value.starts_with('(') { "containers" } else { key.rsplit('.').next().unwrap_or_default() }
    }

    fn below(self, key: &str) -> Self {
        let field = MapField { parent: &self.value, key };
        let is_there = if self.shape.requires(key) { Formula::True } else { field.presence() };
        let is_map = match self.shape {
            shape if shape.is_map() => Formula::True,
            ValueShape::Any => Formula::compare(&format!("type({})", self.value), "==", "map"),
            _ => Formula::False,
        };
        let around = self.there.and(is_map);
        let optional = match (self.shape.is_map(), self.shape.requires(key)) {
            (false, _) => None,
            (true, true) => self.optional.as_deref().map(|parent| MapField { parent, key }.value()),
            (true, false) => self.optional.as_deref().map(|parent| MapField { parent, key }.optional()),
        };
        Self {
            value: field.value(),
            shape: self.shape.field(key),
            missing: self.missing.or(around.clone().and(is_there.clone().not())),
            there: around.and(is_there),
            optional,
        }
    }

    /// Returns the lists under `keys` as one.
    fn several(self, keys: &[String]) -> Option<Self> {
        let mut lists = Vec::new();
        let mut shape = None;
        for key in keys {
            let below = self.clone().below(key);
            if !below.shape.is_list() || shape.is_some_and(|shape| shape != below.shape) {
                return None;
            }
            shape = Some(below.shape);
            lists.push(match self.shape.requires(key) {
                true => below.value,
                false => format!("{}.orValue([])", MapField { parent: &self.value, key }.optional()),
            });
        }
        Some(Self {
            value: format!("({})", lists.join(" + ")),
            shape: shape?,
            there: self.there,
            missing: self.missing,
            optional: None,
        })
    }
}

/// The known fields of a request.
const REQUEST_SHAPE: ValueShape = ValueShape::Map(&[
    ("operation", ValueShape::Required(&ValueShape::Word)),
    ("name", ValueShape::Word),
    ("namespace", ValueShape::Word),
    (
        "userInfo",
        ValueShape::Required(&ValueShape::Map(&[
            ("username", ValueShape::Text),
            ("groups", ValueShape::List(&ValueShape::Text)),
        ])),
    ),
]);

/// Returns whether a path always leads to something that is not empty.
pub(super) fn is_always_present(reading: &PathExpression) -> bool {
    reading.root == PathRoot::Request && reading.steps == [PathExpressionStep::Key("operation".to_owned())]
}

/// Returns a constant as a literal, if it is a scalar.
pub(super) fn constant_literal(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(super::text::string_literal(text)),
        Value::Bool(boolean) => Some(boolean.to_string()),
        Value::Number(number) => number.as_i64().map(|number| number.to_string()),
        _ => None,
    }
}

/// Returns whether a path leads to an optional.
pub(super) fn is_optional(path: &str) -> bool {
    path.contains(".?") || path.contains("[?")
}

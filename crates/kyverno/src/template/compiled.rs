//! An expression that is known when the policy is read.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use kubewright_dialect_kit::shared::SharedParts;
use kubewright_jmespath::{
    JmesPathExpression, JmesPathFunctions, JmesPathLanguage, JmesPathParseError, PathRoots,
};
use kubewright_value::{Text, Value};

use super::rebase::rebased_path;
use kubewright_k8s::PodTemplatePath;

/// An expression and its inputs.
#[derive(Debug)]
pub(in super::super) struct CompiledQuery {
    pub(in super::super) usual: QueryAlternatives,
    /// Its form on a deletion, where that differs: `request.object` is `request.oldObject`.
    on_deletion: Option<QueryAlternatives>,
    /// Its form on the object itself, if it reads nothing else than `request.object`.
    on_object: Option<QueryAlternatives>,
    /// Its form on the element of a loop, if it reads nothing else than `element`.
    on_element: Option<QueryAlternatives>,
    pub(in super::super) roots: PathRoots,
    /// What no other query has or had, if rules share this one: one that is made while a rule runs has none.
    pub(in super::super) shared_number: Option<u64>,
}

/// An expression, and its alternatives apart where the last ones are constant.
#[derive(Debug, Clone)]
pub(in super::super) struct QueryAlternatives {
    pub(in super::super) whole: JmesPathExpression,
    /// An expression and its fallback: `a` and `'x'` of `a || 'x'`.
    pub(in super::super) split: Option<(JmesPathExpression, JmesPathExpression)>,
    /// Whether it takes more than following a path, calls no function and has no default.
    pub(in super::super) is_costly: bool,
}

/// The queries that call no function, by their text and the place of the Pod that their paths were rewritten to.
/// The policies of a cluster read the same few paths.
static SHARED: LazyLock<SharedParts<QueryKey, CompiledQuery>> = LazyLock::new(SharedParts::default);

type QueryKey = (Text, Option<PodTemplatePath>);

/// Returns the shared query of `key`, or the one that `make` returns, which is shared from then on unless it calls a
/// function: what those do also depends on the table of functions.
fn shared_query<E>(
    key: QueryKey,
    make: impl FnOnce() -> Result<CompiledQuery, E>,
) -> Result<Arc<CompiledQuery>, E> {
    if let Some(query) = SHARED.find(&key) {
        return Ok(query);
    }
    let query = make()?;
    Ok(match query.usual.whole.calls_functions() {
        true => Arc::new(query),
        false => {
            static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);
            let number = LAST_NUMBER.fetch_add(1, Ordering::Relaxed) + 1;
            SHARED.add(key, CompiledQuery { shared_number: Some(number), ..query })
        }
    })
}

impl CompiledQuery {
    pub(super) fn new(expression: JmesPathExpression) -> Self {
        let on_deletion = expression.rewritten(&|keys| match keys {
            ["request", "object", ..] => Some((2, ["request", "oldObject"].map(Text::new_static).into())),
            _ => None,
        });
        Self {
            shared_number: None,
            roots: expression.roots(),
            on_deletion: on_deletion.map(QueryAlternatives::new),
            on_object: on_part(&expression, &["request", "object"]).map(QueryAlternatives::new),
            on_element: on_part(&expression, &["element"]).map(QueryAlternatives::new),
            usual: QueryAlternatives::new(expression),
        }
    }

    /// Returns the same on the object itself, if it reads nothing else.
    pub(in super::super) fn on_object(&self) -> Option<&QueryAlternatives> {
        self.on_object.as_ref()
    }

    /// Returns the same on the element of a loop, if it reads nothing else.
    pub(in super::super) fn on_element(&self) -> Option<&QueryAlternatives> {
        self.on_element.as_ref()
    }

    /// Returns the expression for the request at hand.
    pub(in super::super) fn choice(&self, is_deletion: bool) -> &QueryAlternatives {
        self.on_deletion.as_ref().filter(|_| is_deletion).unwrap_or(&self.usual)
    }

    pub(super) fn parse(text: &str, functions: &JmesPathFunctions) -> Result<Arc<Self>, JmesPathParseError> {
        shared_query((text.into(), None), || {
            JmesPathExpression::parse_as(text, functions, JmesPathLanguage::Forgiving).map(Self::new)
        })
    }

    /// Returns this query, which was read from `text`, for objects whose Pods are described at `to`; nothing if it is the
    /// same there.
    pub(super) fn moved(&self, text: &Text, to: PodTemplatePath) -> Option<Arc<Self>> {
        let made = || {
            let rewritten = self.usual.whole.rewritten(&|keys| rebased_path(keys, to));
            rewritten.map(Self::new).ok_or(())
        };
        shared_query((text.clone(), Some(to)), made).ok()
    }

    /// Returns the query of `expression` for objects whose Pods are described at `to`.
    pub(super) fn rebased(expression: JmesPathExpression, to: PodTemplatePath) -> Self {
        Self::new(expression.rewritten(&|keys| rebased_path(keys, to)).unwrap_or(expression))
    }
}

/// Returns the expression on the value at `part` itself, if it reads nothing else.
fn on_part(expression: &JmesPathExpression, part: &[&str]) -> Option<JmesPathExpression> {
    let reads_more = Cell::new(expression.roots().takes_all);
    let stripped = expression.rewritten(&|keys| match keys.starts_with(part) {
        true => Some((part.len(), Vec::new())),
        false => {
            reads_more.set(true);
            None
        }
    });
    stripped.filter(|_| !reads_more.get())
}

impl QueryAlternatives {
    fn new(whole: JmesPathExpression) -> Self {
        let split = whole.split_default();
        let is_plain = split.is_some() || whole.plain_path().is_some();
        // What a function answers may be another thing the next time.
        Self { is_costly: !is_plain && !whole.calls_functions(), split, whole }
    }

    /// Returns the same with `slots` filled in.
    pub(in super::super) fn filled(&self, slots: &[Value]) -> Cow<'_, Self> {
        if slots.is_empty() {
            return Cow::Borrowed(self);
        }
        let split = self.split.as_ref();
        Cow::Owned(Self {
            whole: self.whole.filled(slots),
            split: split.map(|(reading, constant)| (reading.filled(slots), constant.filled(slots))),
            is_costly: self.is_costly,
        })
    }
}

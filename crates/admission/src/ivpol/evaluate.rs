//! Evaluates one ImageValidatingPolicy for one object: conditions, exceptions, images, then validations.

use std::cell::Cell;

use kubewright_cel_rules::{
    CelChecks, CheckResult, ExpressionSubject, Leniency, NamedCondition, ObjectForm, SpentCost,
    VerifiedImages,
};
use kubewright_engine::{
    Applies, Effect, EvalError, Evaluation, ImageLookup, Query, QueryAnswer, RuleBranch, RuleProgram,
};
use kubewright_golib::glob;
use kubewright_golib::image::ImageReference;
use kubewright_k8s::PodTemplatePath;
use kubewright_value::{Map, Text, Value};

use crate::evaluate::{LIST_NAMES, PolicyEngine, PolicyProgram, exception_effect, with_cost, with_notes};
use crate::vpol::EvaluationTarget;
use crate::vpol::exceptions::{ExceptionEffect, apply_exceptions};
use kubewright_dialect_kit::notes::TraceNotes;

/// The lists of containers that a Pod has.
pub(super) const LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// How many images of an object are looked at.
const MAX_IMAGES: usize = 1000;

/// Which images a policy is about, and what it demands of each.
#[derive(Clone)]
pub(super) struct ImageSelection {
    pub(super) verifies_digest: bool,
    pub(super) is_required: bool,
    pub(super) globs: Vec<Text>,
    pub(super) references: Vec<NamedCondition>,
    pub(super) extractors: Vec<NamedCondition>,
    /// `attestors`, `attestations` and `credentials`.
    pub(super) fixed: Value,
}

impl ImageSelection {
    pub(super) fn rebased(&self, to: PodTemplatePath) -> Self {
        Self { extractors: self.extractors.iter().map(|one| one.rebased(to)).collect(), ..self.clone() }
    }
}

/// A compiled policy.
pub(super) struct ImagePolicyProgram {
    pub(super) base: PolicyProgram,
    selection: ImageSelection,
    /// The conditions of the policy, without its validations.
    conditions: CelChecks,
    /// The validations, without the conditions.
    validations: CelChecks,
}

impl ImagePolicyProgram {
    pub(super) fn new(base: PolicyProgram, selection: ImageSelection) -> Self {
        let checks = CelChecks::clone(&base.checks);
        let conditions = CelChecks { assertions: Vec::new(), annotations: Vec::new(), ..checks }.finished();
        let validations = base.checks.unconditional();
        Self { base, selection, conditions, validations }
    }
}

impl RuleProgram for ImagePolicyProgram {
    fn message(&self) -> &str {
        self.base.message()
    }

    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        self.base.applies(object, evaluation)
    }

    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        if let Some(broken) = &self.base.broken {
            return Err(EvalError::new(broken.as_str()));
        }
        let effect = with_notes(&self.base.document, evaluation, |evaluation, notes| {
            with_cost(evaluation, |spent, evaluation| self.judge(object, spent, evaluation, notes))
        });
        match effect {
            Ok(Effect::Fail { message, template, path, is_refusal, location, .. })
                if !self.base.is_scored =>
            {
                Ok(Effect::Warn { message, template, path, is_refusal, location })
            }
            Ok(effect) => Ok(effect),
            Err(error) => Err(Self::evaluation_error(error)),
        }
    }

    fn branches(&self) -> Vec<RuleBranch> {
        self.base.branches()
    }
}

impl ImagePolicyProgram {
    fn judge(
        &self,
        object: &Value,
        spent: &Cell<SpentCost>,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Effect, EvalError> {
        let verified = VerifiedImages::default();
        let subject = self.subject(object, spent, &verified);
        match self.check_conditions(&subject, evaluation, notes) {
            CheckResult::Holds => {}
            CheckResult::NotAsked => return Ok(Effect::NotReported("match conditions are not met".into())),
            other => return self.base.effect(other),
        }
        match self.exceptions(&subject, evaluation, notes)? {
            ExceptionEffect::Wholly(reported) => return Ok(exception_effect(reported)),
            ExceptionEffect::Partly(_) => {}
        }
        let images = self.images(object, &subject, evaluation, notes)?;
        if let Some(image) = self.without_digest(&images) {
            return Ok(self.fail(format!("image {image} does not have a digest")));
        }
        self.fetch(&images, evaluation)?;
        let extra = self.variables(&images);
        let subject = ExpressionSubject { extra: &extra, ..subject };
        match self.validations.judge(&subject, evaluation, notes) {
            CheckResult::Holds => {}
            other => return self.base.effect(other),
        }
        match self.unverified(&images, &verified) {
            Some(message) => Ok(self.fail(message)),
            None => Ok(Effect::Pass("success".into())),
        }
    }

    /// Returns what expressions see of `object`; what they verify is noted in `verified`.
    pub(super) fn subject<'s>(
        &'s self,
        object: &'s Value,
        spent: &'s Cell<SpentCost>,
        verified: &'s VerifiedImages,
    ) -> ExpressionSubject<'s> {
        let form = match self.base.surroundings {
            PolicyEngine::Policy(EvaluationTarget::Json) => ObjectForm::Payload,
            _ => ObjectForm::Plain,
        };
        ExpressionSubject {
            form,
            inputs: self.base.inputs,
            extra: &self.selection.fixed,
            verified: Some(verified),
            ..ExpressionSubject::of(object, LIST_NAMES, spent)
        }
    }

    /// Evaluates the match conditions.
    pub(super) fn check_conditions(
        &self,
        subject: &ExpressionSubject<'_>,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> CheckResult {
        self.conditions.judge(subject, evaluation, notes)
    }

    pub(super) fn exceptions(
        &self,
        subject: &ExpressionSubject<'_>,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<ExceptionEffect, EvalError> {
        let is_lenient = self.base.checks.leniency != Leniency::None;
        apply_exceptions(&self.base.exceptions, is_lenient, subject, evaluation, notes)
    }

    /// Returns the images of containers that the policy is about.
    pub(super) fn container_images(
        &self,
        object: &Value,
        subject: &ExpressionSubject<'_>,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Vec<Text>, EvalError> {
        let lists = self.selected(container_lists(object), subject, evaluation, notes)?;
        Ok(lists.into_iter().flat_map(|(_, list)| list).collect())
    }

    /// Returns `error` in Kyverno's words.
    pub(super) fn evaluation_error(error: EvalError) -> EvalError {
        EvalError { message: format!("failed to evaluate policy: {}", error.message), ..error }
    }

    /// Returns the images of the object that the policy is about, by list.
    fn images(
        &self,
        object: &Value,
        subject: &ExpressionSubject<'_>,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Vec<(Text, Vec<Text>)>, EvalError> {
        let mut lists = container_lists(object);
        for (name, value) in
            self.base.checks.values(&self.selection.extractors, subject, evaluation, notes)?
        {
            let items = value.as_array().unwrap_or_default();
            let texts: Option<Vec<Text>> = items.iter().map(|item| item.as_str().map(Text::from)).collect();
            let texts =
                texts.ok_or_else(|| EvalError::new(format!("images.{name} is not a list of strings")))?;
            lists.push((name, texts));
        }
        self.selected(lists, subject, evaluation, notes)
    }

    /// Returns those of `lists` that the policy is about.
    fn selected(
        &self,
        mut lists: Vec<(Text, Vec<Text>)>,
        subject: &ExpressionSubject<'_>,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Vec<(Text, Vec<Text>)>, EvalError> {
        if lists.iter().map(|(_, list)| list.len()).sum::<usize>() > MAX_IMAGES {
            return Err(EvalError::limit(format!("the object has more than {MAX_IMAGES} images")));
        }
        for (_, list) in &mut lists {
            let mut kept = Vec::with_capacity(list.len());
            for image in std::mem::take(list) {
                if self.is_selected(&image, subject, evaluation, notes)? {
                    kept.push(image);
                }
            }
            *list = kept;
        }
        Ok(lists)
    }

    /// Returns whether one of the references matches; without any, every image is of interest.
    fn is_selected(
        &self,
        image: &str,
        subject: &ExpressionSubject<'_>,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<bool, EvalError> {
        let ImageSelection { globs, references, .. } = &self.selection;
        if globs.is_empty() && references.is_empty() {
            return Ok(true);
        }
        let normalised = ImageReference::parse(image).map(|parsed| parsed.to_string()).unwrap_or_default();
        for glob in globs {
            if glob::matches_wildcard(glob, image, evaluation.budget)?
                || glob::matches_wildcard(glob, &normalised, evaluation.budget)?
            {
                return Ok(true);
            }
        }
        let extra = Value::from(Map::from([("ref", Value::from(image))]));
        let subject = ExpressionSubject { extra: &extra, ..*subject };
        let results = self.base.checks.values(references, &subject, evaluation, notes)?;
        Ok(results.iter().any(|(_, value)| value.as_bool() == Some(true)))
    }

    fn without_digest<'i>(&self, images: &'i [(Text, Vec<Text>)]) -> Option<&'i Text> {
        let mut all = images.iter().flat_map(|(_, list)| list);
        all.find(|image| self.selection.verifies_digest && !image.contains('@'))
    }

    /// Asks for the data of every image: a policy that cannot see an image must not pass it.
    fn fetch(&self, images: &[(Text, Vec<Text>)], evaluation: &Evaluation<'_>) -> Result<(), EvalError> {
        for image in images.iter().flat_map(|(_, list)| list) {
            let parsed = ImageReference::parse(image)
                .map_err(|problem| EvalError::new(format!("`{image}` is not an image: {problem}")))?;
            let query = self.image_query(&parsed, evaluation);
            match evaluation.world.get(&query) {
                QueryAnswer::Found(_) => {}
                answer => return Err(Self::unfetched(image, query, answer)),
            }
        }
        Ok(())
    }

    /// Returns the query for the data of an image.
    pub(super) fn image_query(&self, reference: &ImageReference, evaluation: &Evaluation<'_>) -> Query {
        let credentials = self.selection.fixed.get("credentials").unwrap_or(&Value::Null);
        let secrets = credentials.get("secrets").and_then(Value::as_array).unwrap_or_default();
        Query::Image(ImageLookup {
            reference: reference.to_string().into(),
            namespace: evaluation.world.home().cloned().unwrap_or_default(),
            secrets: secrets.iter().filter_map(|name| name.as_str().map(Text::from)).collect(),
            is_insecure: credentials.get("allowInsecureRegistry").and_then(Value::as_bool) == Some(true),
            ..ImageLookup::default()
        })
    }

    /// Returns the error for `answer`, which does not describe `image`.
    pub(super) fn unfetched(image: &str, query: Query, answer: QueryAnswer) -> EvalError {
        match answer {
            QueryAnswer::Failed(why) => {
                EvalError::failed_lookup(format!("failed to fetch image {image}: {why}"))
            }
            QueryAnswer::Refused(why) => EvalError::refused(&query, &why),
            QueryAnswer::Unknown => EvalError::unanswered(query),
            QueryAnswer::Found(_) | QueryAnswer::Absent => {
                EvalError::new(format!("failed to fetch image {image}: not found"))
            }
        }
    }

    fn variables(&self, images: &[(Text, Vec<Text>)]) -> Value {
        let list = |texts: &[Text]| Value::array(texts.iter().cloned().map(Value::from).collect());
        let images: Map = images.iter().map(|(name, texts)| (name.clone(), list(texts))).collect();
        let mut variables = self.selection.fixed.as_object().cloned().unwrap_or_default();
        variables.insert("images".into(), images.into());
        variables.into()
    }

    fn unverified(&self, images: &[(Text, Vec<Text>)], verified: &VerifiedImages) -> Option<String> {
        let mut all = images.iter().flat_map(|(_, list)| list).filter(|_| self.selection.is_required);
        all.find_map(|image| match verified.result_for(image) {
            Some(true) => None,
            Some(false) => Some(format!("image {image} failed signature or attestation verification")),
            None => Some(format!(
                "image {image} is not verified: no policy performed a signature or attestation check on it"
            )),
        })
    }

    fn fail(&self, message: String) -> Effect {
        Effect::Fail {
            is_refusal: self.base.actions.denies,
            location: None,
            message,
            template: Text::default(),
            path: Vec::new(),
            denial: None,
        }
    }
}

/// Returns the images of the containers of a Pod, or of the Pods that an object makes.
fn container_lists(object: &Value) -> Vec<(Text, Vec<Text>)> {
    let spec = pod_spec_keys(object).and_then(|keys| object.at(keys)).unwrap_or(&Value::Null);
    let images = |list: &str| {
        let containers = spec.get(list).and_then(Value::as_array).unwrap_or_default();
        containers.iter().filter_map(|one| one.get("image")?.as_str().map(Text::from)).collect()
    };
    LISTS.iter().map(|list| (Text::new_static(list), images(list))).collect()
}

/// Returns where the `spec` of the Pod is that `object` is or describes.
pub(super) fn pod_spec_keys(object: &Value) -> Option<&'static [&'static str]> {
    let place = PodTemplatePath::of_kind(object.str_at(&["kind"]));
    place.filter(|place| *place != PodTemplatePath::Bare).map(PodTemplatePath::spec_keys)
}

//! Rules that verify images: the drafts of ImageValidatingPolicies.
//!
//! The entry is read as it is written. A field that is not known here has no equivalent, so that nothing of the rule gets
//! lost.

use kubewright_value::{Map, Step, Text, Value};

use super::changes::ConvertedChange;
use super::constraints::put_optional;
use super::policy::{ConvertedRule, ConvertedRuleDraft, Converter};
use super::{ConversionNote, ConversionResult, SuccessorKind, refuse_conversion, vpol};
use kubewright_dialect_kit::fields::child_path;
use kubewright_golib::glob::has_wildcard;
use kubewright_kyverno::source::{FailureAction, RuleSource};

/// How many signers an entry may name.
const MAX_SIGNERS: usize = 100;

/// The lists of images that a rule looks at.
const ALL_IMAGES: &str = "(images.containers + images.initContainers + images.ephemeralContainers)";

impl Converter<'_> {
    /// Returns the drafts of a rule that verifies images, the rule itself first.
    pub(super) fn image_rule(
        &self,
        subject: &ConvertedRule<'_>,
        notes: &mut Vec<ConversionNote>,
    ) -> ConversionResult<Vec<ConvertedRuleDraft>> {
        let rule = subject.rule;
        if !self.target.writes(SuccessorKind::ImageValidatingPolicy) {
            let why = self.not_written(
                "`verifyImages` is not a check of one object alone",
                "it verifies images, for which there is ImageValidatingPolicy",
            );
            return refuse_conversion(why, &child_path(&rule.path, "verifyImages"));
        }
        let conditions = self.sure_preconditions(rule)?;
        let change = self.image_change(rule)?;
        let drafts = self.change_drafts(subject, &conditions, &change)?;
        self.tell_guesses(rule, notes);
        self.note(
            notes,
            rule,
            &rule.name.path,
            "no annotation is written, and an image that an update leaves as it is is verified again",
        );
        Ok(drafts)
    }

    fn image_change(&self, rule: &RuleSource) -> ConversionResult<ConvertedChange> {
        let path = child_path(&rule.path, "verifyImages");
        if self.document.value.follow(&child_path(&rule.path, "imageExtractors")).is_some() {
            let path = child_path(&rule.path, "imageExtractors");
            return refuse_conversion("`imageExtractors`: images elsewhere than in containers", &path);
        }
        let entries = self.document.value.follow(&path).and_then(Value::as_array).unwrap_or_default();
        let [entry] = entries else {
            return refuse_conversion("several entries of `verifyImages`: make several rules of it", &path);
        };
        let path = child_path(&path, 0);
        let mut entry = ImageEntryReader { entry, path, attestors: Vec::new() };
        entry.only(
            entry.entry,
            &entry.path,
            &[
                "type",
                "imageReferences",
                "attestors",
                "annotations",
                "repository",
                "mutateDigest",
                "verifyDigest",
                "required",
                "useCache",
                "imageRegistryCredentials",
                "failureAction",
            ],
        )?;
        let action = match self.action(rule)? {
            FailureAction::Enforce => "Deny",
            FailureAction::Audit => "Audit",
        };
        let mut fields = vec![("validationActions", Value::from(vec![action]))];
        fields.extend(vpol::evaluation_value(self.policy).map(|value| ("evaluation", value)));
        fields.push(("matchImageReferences", entry.references()?));
        fields.extend(entry.field("imageRegistryCredentials").map(|value| ("credentials", value)));
        fields.extend(entry.configuration().map(|value| ("validationConfigurations", value)));
        let validation = entry.validation()?;
        fields.push(("attestors", Value::array(entry.attestors)));
        fields.push(("validations", Value::array(vec![validation])));
        Ok(ConvertedChange { kind: SuccessorKind::ImageValidatingPolicy, fields })
    }
}

/// Reads one entry of `verifyImages`.
struct ImageEntryReader<'e> {
    entry: &'e Value,
    path: Vec<Step>,
    /// Those that were written so far.
    attestors: Vec<Value>,
}

impl ImageEntryReader<'_> {
    /// Refuses fields of `object` other than `known`.
    fn only(&self, object: &Value, path: &[Step], known: &[&str]) -> ConversionResult<()> {
        let fields = object.as_object().into_iter().flat_map(Map::keys);
        match fields.into_iter().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => refuse_conversion(
                &format!("`{key}` of an image has no equivalent"),
                &child_path(path, key.as_str()),
            ),
        }
    }

    fn field(&self, key: &str) -> Option<Value> {
        self.entry.get(key).filter(|value| !value.is_null()).cloned()
    }

    /// Returns the images that are meant, which must be the same whether a glob is compared with the image as it is
    /// written, as the new policy also does, or only with the whole name of it.
    fn references(&self) -> ConversionResult<Value> {
        let globs = self.entry.get("imageReferences").and_then(Value::as_array).unwrap_or_default();
        let mut references = Vec::with_capacity(globs.len());
        for (index, glob) in globs.iter().enumerate() {
            let text = glob.as_str().unwrap_or_default();
            if !is_plain_glob(text) {
                let path = child_path(&child_path(&self.path, "imageReferences"), index);
                return refuse_conversion("a glob that depends on how an image is written", &path);
            }
            references.push(Map::from([("glob", glob.clone())]).into());
        }
        Ok(Value::array(references))
    }

    fn configuration(&self) -> Option<Value> {
        let off = |key: &str| self.entry.get(key).and_then(Value::as_bool) == Some(false);
        let switches = ["mutateDigest", "verifyDigest", "required"].into_iter().filter(|key| off(key));
        let map: Map = switches.map(|key| (Text::new_static(key), false.into())).collect();
        (!map.is_empty()).then(|| map.into())
    }

    /// Returns the validation that every set of signers is satisfied.
    fn validation(&mut self) -> ConversionResult<Value> {
        let kind = self.entry.str_at(&["type"]);
        if !["", "Cosign"].contains(&kind) {
            return refuse_conversion(
                "signatures of another type than Cosign",
                &child_path(&self.path, "type"),
            );
        }
        let path = child_path(&self.path, "attestors");
        let sets = self.entry.get("attestors").and_then(Value::as_array).unwrap_or_default();
        if sets.is_empty() {
            let why =
                "a rule without attestors needs no registry, which an ImageValidatingPolicy always asks";
            return refuse_conversion(why, &self.path);
        }
        let mut tests = Vec::with_capacity(sets.len());
        for (index, set) in sets.iter().enumerate() {
            tests.push(self.set(set, &child_path(&path, index))?);
        }
        let expression = format!("{ALL_IMAGES}.all(image, {})", tests.join(" && "));
        Ok(Map::from([
            ("expression", Value::from(expression)),
            ("message", "an image is not signed as the policy demands".into()),
        ])
        .into())
    }

    /// Returns the test that enough signers of `set` signed the image.
    fn set(&mut self, set: &Value, path: &[Step]) -> ConversionResult<String> {
        self.only(set, path, &["count", "entries"])?;
        let first = self.attestors.len();
        let entries = set.get("entries").and_then(Value::as_array).unwrap_or_default();
        for (index, entry) in entries.iter().enumerate() {
            self.signer(entry, &child_path(&child_path(path, "entries"), index))?;
        }
        let all = self.attestors.len() - first;
        let count =
            set.get("count").and_then(Value::as_i64).unwrap_or_else(|| i64::try_from(all).unwrap_or(0));
        let names: Vec<String> = (first..self.attestors.len())
            .map(|index| format!("attestors.{}", attestor_name(index)))
            .collect();
        Ok(format!("verifyImageSignatures(image, [{}]) >= {count}", names.join(", ")))
    }

    /// Adds the attestors of an entry: several keys in one text are several.
    fn signer(&mut self, entry: &Value, path: &[Step]) -> ConversionResult<()> {
        self.only(entry, path, &["keys", "certificates", "keyless", "annotations", "repository"])?;
        for key in ["keys", "certificates", "keyless"] {
            let Some(by) = entry.get(key) else { continue };
            let path = child_path(path, key);
            for (field, value) in self.identities(key, by, &path)? {
                let mut cosign = Map::from([(field, value)]);
                put_optional(&mut cosign, "ctlog", self.trust(by, &path)?);
                let repository = [entry, self.entry].map(|one| one.str_at(&["repository"]));
                if let Some(repository) = repository.into_iter().find(|text| !text.is_empty()) {
                    let source = Map::from([("repository", Value::from(repository))]);
                    cosign.insert("source".into(), source.into());
                }
                let annotations = self.annotations(entry);
                if !annotations.is_empty() {
                    cosign.insert("annotations".into(), annotations.into());
                }
                let name = attestor_name(self.attestors.len());
                self.attestors
                    .push(Map::from([("name", Value::from(name)), ("cosign", cosign.into())]).into());
            }
        }
        if self.attestors.len() > MAX_SIGNERS {
            return refuse_conversion("it names too many signers", path);
        }
        Ok(())
    }

    /// Returns the signers of a `kind`, in the words of an attestor.
    fn identities(
        &self,
        kind: &str,
        by: &Value,
        path: &[Step],
    ) -> ConversionResult<Vec<(&'static str, Value)>> {
        let text = |key: &str| by.str_at(&[key]).to_owned();
        let has_variable = |key: &str| by.str_at(&[key]).contains("{{");
        match kind {
            "keys" => {
                self.only(by, path, &["publicKeys", "signatureAlgorithm", "rekor", "ctlog"])?;
                let keys = pem_blocks(by.str_at(&["publicKeys"]));
                if keys.is_empty() || has_variable("publicKeys") {
                    return refuse_conversion(
                        "a key that is not in the policy",
                        &child_path(path, "publicKeys"),
                    );
                }
                let algorithm = text("signatureAlgorithm");
                let key = |data: String| {
                    let mut map = Map::from([("data", Value::from(data))]);
                    if !algorithm.is_empty() {
                        map.insert("hashAlgorithm".into(), algorithm.as_str().into());
                    }
                    ("key", Value::from(map))
                };
                Ok(keys.into_iter().map(key).collect())
            }
            "certificates" => {
                self.only(by, path, &["cert", "certChain", "rekor", "ctlog"])?;
                let parts = ["cert", "certChain"].into_iter().filter(|key| by.get(key).is_some());
                let mut map = Map::new();
                for key in parts {
                    if has_variable(key) {
                        return refuse_conversion(
                            "a certificate that is not in the policy",
                            &child_path(path, key),
                        );
                    }
                    map.insert(key.into(), Map::from([("value", Value::from(text(key)))]).into());
                }
                Ok(vec![("certificate", map.into())])
            }
            _ => {
                let names = ["issuer", "issuerRegExp", "subject", "subjectRegExp"];
                let others = ["roots", "additionalExtensions", "rekor", "ctlog"];
                self.only(by, path, &[&names[..], &others[..]].concat())?;
                // Here they are compared letter by letter.
                if let Some(key) = ["issuer", "subject"].iter().find(|key| has_wildcard(by.str_at(&[key]))) {
                    return refuse_conversion("an identity with wildcards", &child_path(path, *key));
                }
                let named = names.into_iter().filter(|key| !by.str_at(&[key]).is_empty());
                let identity: Map = named.map(|key| (Text::new_static(key), text(key).into())).collect();
                let mut map = Map::from([("identities", Value::array(vec![identity.into()]))]);
                for key in ["roots", "additionalExtensions"] {
                    put_optional(&mut map, key, by.get(key).cloned());
                }
                Ok(vec![("keyless", map.into())])
            }
        }
    }

    /// Returns `ctlog`, which has the settings of both logs.
    fn trust(&self, by: &Value, path: &[Step]) -> ConversionResult<Option<Value>> {
        let mut trust = Map::new();
        for (log, fields) in [
            ("rekor", [("pubkey", "rekorPubKey"), ("ignoreTlog", "insecureIgnoreTlog"), ("url", "url")]),
            ("ctlog", [("pubkey", "ctLogPubKey"), ("ignoreSCT", "insecureIgnoreSCT"), ("url", "url")]),
        ] {
            let Some(written) = by.get(log) else { continue };
            self.only(written, &child_path(path, log), &fields.map(|(from, _)| from))?;
            for (from, to) in fields {
                put_optional(&mut trust, to, written.get(from).cloned());
            }
        }
        Ok((!trust.is_empty()).then(|| trust.into()))
    }

    /// Returns the annotations that a signature must have: those of all signers, and those of this one.
    fn annotations(&self, entry: &Value) -> Map {
        let both = [self.entry, entry].map(|one| one.get("annotations").and_then(Value::as_object));
        let pairs = both.into_iter().flatten().flat_map(Map::iter);
        pairs.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

fn attestor_name(index: usize) -> String {
    format!("signer{}", index + 1)
}

/// Returns whether a glob means the same images in any way of writing them: all that begin with a text before the tag, or
/// one with its registry and tag.
fn is_plain_glob(glob: &str) -> bool {
    let (start, is_open) = glob.strip_suffix('*').map_or((glob, false), |start| (start, true));
    if has_wildcard(start) || start.contains('@') {
        return false;
    }
    let (registry, rest) = start.split_once('/').unwrap_or(("", start));
    let names_registry = registry.contains(['.', ':']) || registry == "localhost";
    match is_open {
        true => start.is_empty() || (names_registry && !rest.contains(':')),
        false => names_registry && rest.contains(':'),
    }
}

fn pem_blocks(text: &str) -> Vec<String> {
    const BEGIN: &str = "-----BEGIN ";
    text.split(BEGIN).skip(1).map(|block| format!("{BEGIN}{}\n", block.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::is_plain_glob;

    #[test]
    fn globs_that_see_how_an_image_is_written_are_told_apart() {
        for glob in ["*", "ghcr.io/*", "ghcr.io/org/app*", "localhost:5000/a*", "ghcr.io/org/app:v1"] {
            assert!(is_plain_glob(glob), "{glob}");
        }
        for glob in
            ["nginx*", "ghcr.io/org/app:*", "*/app", "ghcr.io/app", "ghcr.io/app@sha256:*", "library/a:1"]
        {
            assert!(!is_plain_glob(glob), "{glob}");
        }
    }
}

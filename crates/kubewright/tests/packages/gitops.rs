//! Argo CD and Flux: the recipes have the fields that these programs read, and their commands run here.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use kubewright_value::{Value, yaml};

use super::{BINARY, documents, empty_folder, items, read, read_yaml, repository, run, texts};

/// A folder with an application: its manifests, a policy that they break, and the program on a path.
fn application(name: &str) -> (PathBuf, String) {
    let folder = empty_folder(name);
    for part in ["rules", "manifests", "bin"] {
        fs::create_dir_all(folder.join(part)).expect("a folder");
    }
    let example = repository("examples/kyverno/fixed-image-tags");
    fs::copy(example.join("policy.yaml"), folder.join("rules/policy.yaml")).expect("a rule");
    std::os::unix::fs::symlink(BINARY, folder.join("bin/kubewright")).expect("a link");
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    (folder, path)
}

fn pod(tag: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: web, namespace: shop}}\nspec: {{containers: [{{name: web, image: 'registry.example.com/web:{tag}'}}]}}\n"
    )
}

#[test]
fn the_argo_cd_plugin_prints_manifests_only_if_no_rule_refuses_them() {
    let plugin = read_yaml("packaging/argocd/plugin.yaml");
    assert_eq!(
        (plugin.str_at(&["apiVersion"]), plugin.str_at(&["kind"])),
        ("argoproj.io/v1alpha1", "ConfigManagementPlugin")
    );
    assert_eq!(plugin.str_at(&["spec", "discover", "fileName"]), "kubewright.yaml");
    assert_eq!(texts(&plugin, &["spec", "generate", "command"]), ["/plugin/generate"]);

    let (folder, path) = application("argocd");
    let generate = |tag: &str| {
        fs::write(folder.join("manifests/pod.yaml"), pod(tag)).expect("a manifest");
        let mut command = Command::new(repository("packaging/argocd/generate"));
        let output = command.current_dir(&folder).env("PATH", &path).output().expect("the script starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, manifests, _) = generate("1.0");
    assert_eq!((code, documents(&manifests).len()), (Some(0), 1), "{manifests}");
    let (code, manifests, messages) = generate("latest");
    assert_eq!((code, manifests.as_str()), (Some(1), ""));
    assert!(messages.contains("Name a tag other than latest"), "{messages}");
}

/// The Job of the PreSync hook.
fn hook() -> Value {
    read_yaml("packaging/argocd/presync.yaml")
}

#[test]
fn the_presync_job_judges_the_manifests_of_its_config_maps() {
    let container = items(&hook(), &["spec", "template", "spec", "containers"])[0].clone();
    let (folder, path) = application("presync");
    for (tag, wanted) in [("1.0", 0), ("latest", 1)] {
        fs::write(folder.join("manifests/pod.yaml"), pod(tag)).expect("a manifest");
        let arguments = texts(&container, &["args"]);
        let arguments =
            arguments.iter().map(|word| word.strip_prefix('/').unwrap_or(word).replace("high", "medium"));
        let (code, text) =
            run(Command::new("kubewright").args(arguments).current_dir(&folder).env("PATH", &path));
        assert_eq!(code, wanted, "{tag}: {text}");
    }
    let kustomization = read_yaml("packaging/argocd/kustomization.yaml");
    let generated =
        items(&kustomization, &["configMapGenerator"]).iter().map(|map| map.str_at(&["name"]).to_owned());
    let hook = hook();
    let volumes = items(&hook, &["spec", "template", "spec", "volumes"]).iter();
    let mounted = volumes.map(|volume| volume.str_at(&["configMap", "name"]).to_owned());
    assert_eq!(generated.collect::<Vec<_>>(), mounted.collect::<Vec<_>>());
    assert_eq!(
        kustomization.str_at(&["generatorOptions", "annotations", "argocd.argoproj.io/hook"]),
        "PreSync"
    );
}

#[test]
fn the_presync_job_passes_the_restricted_profile() {
    let folder = empty_folder("presync-profile");
    let mut job = hook();
    let metadata = job.as_object_mut().and_then(|map| map.get_mut("metadata")).and_then(Value::as_object_mut);
    metadata.expect("metadata").insert("name".into(), "kubewright".into());
    fs::write(folder.join("job.yaml"), yaml::write(&job)).expect("a file");
    let mut command = Command::new(BINARY);
    command
        .arg("apply")
        .arg(repository("examples/kyverno/pod-security"))
        .arg("-r")
        .arg(folder.join("job.yaml"));
    let (code, text) = run(command.arg("--no-project"));
    assert_eq!(code, 0, "{text}");
}

#[test]
fn flux_applies_the_application_after_its_check() {
    let kustomizations = documents(&read("packaging/flux/shop.yaml"));
    let [check, shop] = kustomizations.as_slice() else { unreachable!("two Kustomizations") };
    for object in [check, shop] {
        assert_eq!(object.str_at(&["apiVersion"]), "kustomize.toolkit.fluxcd.io/v1");
        for field in ["interval", "path"] {
            assert!(!object.str_at(&["spec", field]).is_empty(), "{field} is required");
        }
        assert!(
            object.at(&["spec", "sourceRef", "name"]).is_some() && object.at(&["spec", "prune"]).is_some()
        );
    }
    let waits = |field: &str| check.at(&["spec", field]).and_then(Value::as_bool);
    assert_eq!((waits("wait"), waits("force")), (Some(true), Some(true)));
    let dependency = items(shop, &["spec", "dependsOn"]).first().map(|other| other.str_at(&["name"]));
    assert_eq!(dependency, Some(check.str_at(&["metadata", "name"])));
}

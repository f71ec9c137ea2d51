//! What a rule about Pods is rewritten for: the places where Pods are described.

pub use kubewright_k8s::PodTemplatePath as Workload;

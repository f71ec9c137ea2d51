{{- /* Made from what the rule languages say of themselves: `make chart`. */ -}}
{{- define "kubewright.languages" }}
{{- if has "modrule" .Values.dialects }}
  # Rules (modrule) and their status.
  - apiGroups: [api.kubemod.io]
    resources: [modrules]
    verbs: [list, watch]
  - apiGroups: [api.kubemod.io]
    resources: [modrules/status]
    verbs: [patch]
  # The node of a Pod (`syntheticRefs.node`).
  - apiGroups: [""]
    resources: [nodes]
    verbs: [list, watch]
  # The annotation with the name of its node, for a Pod that requests it.
  - apiGroups: [""]
    resources: [pods]
    verbs: [get, patch]
  # The label admission.kubemod.io/ignore of system namespaces, if it is missing.
  - apiGroups: [""]
    resources: [namespaces]
    verbs: [patch]
    resourceNames: [kube-system, kubemod-system]
  # Webhooks of the original program, to detect that it is installed too.
  - apiGroups: [admissionregistration.k8s.io]
    resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
    verbs: [get]
    resourceNames: [kubemod-mutating-webhook-configuration, kubemod-validating-webhook-configuration]
{{- end }}
{{- if has "kyverno" .Values.dialects }}
  # Rules (kyverno) and their status.
  - apiGroups: [kyverno.io]
    resources: [clusterpolicies]
    verbs: [list, watch]
  - apiGroups: [kyverno.io]
    resources: [clusterpolicies/status]
    verbs: [patch]
  # Rules (kyverno) and their status.
  - apiGroups: [kyverno.io]
    resources: [policies]
    verbs: [list, watch]
  - apiGroups: [kyverno.io]
    resources: [policies/status]
    verbs: [patch]
  # Rules (kyverno) and their status.
  - apiGroups: [kyverno.io]
    resources: [clustercleanuppolicies]
    verbs: [list, watch]
  - apiGroups: [kyverno.io]
    resources: [clustercleanuppolicies/status]
    verbs: [patch]
  # Rules (kyverno) and their status.
  - apiGroups: [kyverno.io]
    resources: [cleanuppolicies]
    verbs: [list, watch]
  - apiGroups: [kyverno.io]
    resources: [cleanuppolicies/status]
    verbs: [patch]
  # Data that rules share.
  - apiGroups: [kyverno.io]
    resources: [globalcontextentries]
    verbs: [list, watch]
{{- if .Values.exceptionsFrom }}
  # Exceptions from rules.
  - apiGroups: [kyverno.io]
    resources: [policyexceptions]
    verbs: [list, watch]
{{- end }}
  # ConfigMaps that rules name in their context.
  - apiGroups: [""]
    resources: [configmaps]
    verbs: [get, list, watch]
  # The roles of the requesting user.
  - apiGroups: [rbac.authorization.k8s.io]
    resources: [rolebindings, clusterrolebindings]
    verbs: [list, watch]
  # Permission checks in rules; nothing is stored.
  - apiGroups: [authorization.k8s.io]
    resources: [subjectaccessreviews]
    verbs: [create]
  # Webhooks of the original program, to detect that it is installed too.
  - apiGroups: [admissionregistration.k8s.io]
    resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
    verbs: [get]
    resourceNames: [kyverno-resource-validating-webhook-cfg, kyverno-resource-mutating-webhook-cfg, kyverno-policy-validating-webhook-cfg, kyverno-policy-mutating-webhook-cfg, kyverno-exception-validating-webhook-cfg, kyverno-verify-mutating-webhook-cfg]
{{- end }}
{{- if has "vpol" .Values.dialects }}
  # Rules (vpol) and their status.
  - apiGroups: [policies.kyverno.io]
    resources: [validatingpolicies]
    verbs: [list, watch]
  - apiGroups: [policies.kyverno.io]
    resources: [validatingpolicies/status]
    verbs: [patch]
  # Rules (vpol) and their status.
  - apiGroups: [policies.kyverno.io]
    resources: [namespacedvalidatingpolicies]
    verbs: [list, watch]
  - apiGroups: [policies.kyverno.io]
    resources: [namespacedvalidatingpolicies/status]
    verbs: [patch]
{{- if .Values.exceptionsFrom }}
  # Exceptions from rules.
  - apiGroups: [policies.kyverno.io]
    resources: [policyexceptions]
    verbs: [list, watch]
{{- end }}
  # Permission checks in rules; nothing is stored.
  - apiGroups: [authorization.k8s.io]
    resources: [subjectaccessreviews]
    verbs: [create]
  # Webhooks of the original program, to detect that it is installed too.
  - apiGroups: [admissionregistration.k8s.io]
    resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
    verbs: [get]
    resourceNames: [kyverno-resource-validating-webhook-cfg, kyverno-resource-mutating-webhook-cfg, kyverno-policy-validating-webhook-cfg]
{{- end }}
{{- if has "mpol" .Values.dialects }}
  # Rules (mpol) and their status.
  - apiGroups: [policies.kyverno.io]
    resources: [mutatingpolicies]
    verbs: [list, watch]
  - apiGroups: [policies.kyverno.io]
    resources: [mutatingpolicies/status]
    verbs: [patch]
  # Rules (mpol) and their status.
  - apiGroups: [policies.kyverno.io]
    resources: [namespacedmutatingpolicies]
    verbs: [list, watch]
  - apiGroups: [policies.kyverno.io]
    resources: [namespacedmutatingpolicies/status]
    verbs: [patch]
{{- if .Values.exceptionsFrom }}
  # Exceptions from rules.
  - apiGroups: [policies.kyverno.io]
    resources: [policyexceptions]
    verbs: [list, watch]
{{- end }}
  # Webhooks of the original program, to detect that it is installed too.
  - apiGroups: [admissionregistration.k8s.io]
    resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
    verbs: [get]
    resourceNames: [kyverno-resource-validating-webhook-cfg, kyverno-resource-mutating-webhook-cfg, kyverno-policy-validating-webhook-cfg]
{{- end }}
{{- if has "gpol" .Values.dialects }}
  # Rules (gpol) and their status.
  - apiGroups: [policies.kyverno.io]
    resources: [generatingpolicies]
    verbs: [list, watch]
  - apiGroups: [policies.kyverno.io]
    resources: [generatingpolicies/status]
    verbs: [patch]
  # Rules (gpol) and their status.
  - apiGroups: [policies.kyverno.io]
    resources: [namespacedgeneratingpolicies]
    verbs: [list, watch]
  - apiGroups: [policies.kyverno.io]
    resources: [namespacedgeneratingpolicies/status]
    verbs: [patch]
{{- if .Values.exceptionsFrom }}
  # Exceptions from rules.
  - apiGroups: [policies.kyverno.io]
    resources: [policyexceptions]
    verbs: [list, watch]
{{- end }}
  # Webhooks of the original program, to detect that it is installed too.
  - apiGroups: [admissionregistration.k8s.io]
    resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
    verbs: [get]
    resourceNames: [kyverno-resource-validating-webhook-cfg, kyverno-resource-mutating-webhook-cfg, kyverno-policy-validating-webhook-cfg]
{{- end }}
{{- if has "dpol" .Values.dialects }}
  # Rules (dpol) and their status.
  - apiGroups: [policies.kyverno.io]
    resources: [deletingpolicies]
    verbs: [list, watch]
  - apiGroups: [policies.kyverno.io]
    resources: [deletingpolicies/status]
    verbs: [patch]
  # Rules (dpol) and their status.
  - apiGroups: [policies.kyverno.io]
    resources: [namespaceddeletingpolicies]
    verbs: [list, watch]
  - apiGroups: [policies.kyverno.io]
    resources: [namespaceddeletingpolicies/status]
    verbs: [patch]
{{- if .Values.exceptionsFrom }}
  # Exceptions from rules.
  - apiGroups: [policies.kyverno.io]
    resources: [policyexceptions]
    verbs: [list, watch]
{{- end }}
  # Webhooks of the original program, to detect that it is installed too.
  - apiGroups: [admissionregistration.k8s.io]
    resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
    verbs: [get]
    resourceNames: [kyverno-resource-validating-webhook-cfg, kyverno-resource-mutating-webhook-cfg, kyverno-policy-validating-webhook-cfg]
{{- end }}
{{- if has "ivpol" .Values.dialects }}
  # Rules (ivpol) and their status.
  - apiGroups: [policies.kyverno.io]
    resources: [imagevalidatingpolicies]
    verbs: [list, watch]
  - apiGroups: [policies.kyverno.io]
    resources: [imagevalidatingpolicies/status]
    verbs: [patch]
  # Rules (ivpol) and their status.
  - apiGroups: [policies.kyverno.io]
    resources: [namespacedimagevalidatingpolicies]
    verbs: [list, watch]
  - apiGroups: [policies.kyverno.io]
    resources: [namespacedimagevalidatingpolicies/status]
    verbs: [patch]
{{- if .Values.exceptionsFrom }}
  # Exceptions from rules.
  - apiGroups: [policies.kyverno.io]
    resources: [policyexceptions]
    verbs: [list, watch]
{{- end }}
  # Webhooks of the original program, to detect that it is installed too.
  - apiGroups: [admissionregistration.k8s.io]
    resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
    verbs: [get]
    resourceNames: [kyverno-resource-validating-webhook-cfg, kyverno-resource-mutating-webhook-cfg, kyverno-policy-validating-webhook-cfg]
{{- end }}
{{- end }}

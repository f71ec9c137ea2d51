{{- /* Made from what the rule languages say of themselves: `make chart`. */ -}}
{{- define "kubewright.languages" }}
{{- if has "modrule" .Values.dialects }}
  # Rules (modrule), and what became of each.
  - apiGroups: [api.kubemod.io]
    resources: [modrules]
    verbs: [get, list, watch]
  - apiGroups: [api.kubemod.io]
    resources: [modrules/status]
    verbs: [patch]
  # The node of a Pod, as rules see it.
  - apiGroups: [""]
    resources: [nodes]
    verbs: [get, list, watch]
  # The annotation with the name of its node, for a Pod that asks for it.
  - apiGroups: [""]
    resources: [pods]
    verbs: [get, patch]
{{- end }}
{{- if has "kyverno" .Values.dialects }}
  # Rules (kyverno), and what became of each.
  - apiGroups: [kyverno.io]
    resources: [clusterpolicies]
    verbs: [get, list, watch]
  - apiGroups: [kyverno.io]
    resources: [clusterpolicies/status]
    verbs: [patch]
  # Rules (kyverno), and what became of each.
  - apiGroups: [kyverno.io]
    resources: [policies]
    verbs: [get, list, watch]
  - apiGroups: [kyverno.io]
    resources: [policies/status]
    verbs: [patch]
  # ConfigMaps that rules name in their context.
  - apiGroups: [""]
    resources: [configmaps]
    verbs: [get, list, watch]
  # The roles of the one who asks.
  - apiGroups: [rbac.authorization.k8s.io]
    resources: [rolebindings, clusterrolebindings]
    verbs: [get, list, watch]
{{- end }}
{{- end }}

{{- define "kubewright.scan.labels" -}}
app.kubernetes.io/name: kubewright-scan
    app.kubernetes.io/instance: {{ .Release.Name }}
    app.kubernetes.io/component: scan
    app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
    app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

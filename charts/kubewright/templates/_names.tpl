{{- /* Only what Go's templates and Sprig have: `kubewright install` renders these files itself. */ -}}
{{- define "kubewright.labels" -}}
app.kubernetes.io/name: kubewright
    app.kubernetes.io/instance: {{ .Release.Name }}
    app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
    app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "pipeline.labels" }}
app.kubernetes.io/part-of: {{ $.Chart.Name | quote }}
team: {{ .Values.team | default "data" }}
{{- end }}

{{- define "pipeline.job" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $job := index . 2 -}}
apiVersion: batch/v1
kind: CronJob
metadata:
  name: {{ $root.Release.Name }}-{{ $name }}
  labels:
    {{- include "pipeline.labels" $root | indent 4 }}
spec:
  schedule: {{ $job.schedule | quote }}
  suspend: {{ $job.suspend | default false }}
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: {{ dig "extra" "restartPolicy" "OnFailure" $job }}
          containers:
            - name: {{ $name | kebabcase }}
              image: {{ required "an image is needed" $job.image }}
              {{- with $job.args }}
              args: {{ toJson . }}
              {{- end }}
{{- end }}

{{- /* Made from the flags that `install` and `serve` share: `make chart`. */ -}}
{{- define "kubewright.flags" }}
{{- if .Values.dialects }}
            - {{ printf "--dialects=%s" (join "," .Values.dialects) | quote }}
{{- end }}
{{- if .Values.exceptionsFrom }}
            - {{ printf "--exceptions-from=%s" (join "," .Values.exceptionsFrom) | quote }}
{{- end }}
{{- if .Values.targets }}
            - {{ printf "--targets=%s" (join "," .Values.targets) | quote }}
{{- end }}
{{- range .Values.allowHosts }}
            - {{ printf "--allow-host=%s" . | quote }}
{{- end }}
{{- if .Values.generateVap }}
            - --generate-vap
{{- end }}
{{- range .Values.allowRegistries }}
            - {{ printf "--allow-registry=%s" . | quote }}
{{- end }}
{{- end }}

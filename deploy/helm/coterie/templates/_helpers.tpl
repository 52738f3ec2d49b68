{{- define "coterie.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "coterie.labels" -}}
app.kubernetes.io/name: coterie
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "coterie.pod-security" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "coterie.container-security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "coterie.env" -}}
- {name: COTERIE_MODE, value: scaled}
- {name: COTERIE_PUBLIC_URL, value: {{ .Values.publicUrl | quote }}}
- {name: COTERIE_TRUSTED_PROXIES, value: {{ .Values.trustedProxies | quote }}}
- {name: COTERIE_DATABASE_URL_FILE, value: /run/secrets/coterie/database_url}
- {name: COTERIE_REDIS_URL_FILE, value: /run/secrets/coterie/redis_url}
- {name: COTERIE_SECRET_KEY_FILE, value: /run/secrets/coterie/secret_key}
- {name: COTERIE_SIGNING_KEY_FILE, value: /run/secrets/coterie/signing_key}
{{- if .Values.deviceCertificates }}
- {name: COTERIE_DEVICE_CERTIFICATES, value: {{ .Values.deviceCertificates | quote }}}
- {name: COTERIE_DEVICE_CA_KEY_FILE, value: /run/secrets/coterie/device_ca_key}
{{- end }}
- {name: COTERIE_S3_BUCKET, value: {{ .Values.objectStorage.bucket | quote }}}
{{- if .Values.bundled.objectStorage }}
- {name: COTERIE_S3_ENDPOINT, value: "http://object-storage:8080"}
- {name: COTERIE_S3_KEY_ID, value: "fleet:platform"}
- {name: COTERIE_S3_SECRET_FILE, value: /run/secrets/coterie/s3_secret}
{{- end }}
{{- if not .Values.bundled.objectStorage }}
- {name: COTERIE_S3_PREFIX, value: {{ .Values.objectStorage.prefix | quote }}}
- {name: COTERIE_S3_ENDPOINT, value: {{ .Values.objectStorage.endpoint | quote }}}
- {name: COTERIE_S3_PUBLIC_ENDPOINT, value: {{ .Values.objectStorage.publicEndpoint | quote }}}
- {name: COTERIE_S3_REGION, value: {{ .Values.objectStorage.region | quote }}}
{{- if .Values.objectStorage.keyId }}
- {name: COTERIE_S3_KEY_ID, value: {{ .Values.objectStorage.keyId | quote }}}
- {name: COTERIE_S3_SECRET_FILE, value: /run/secrets/coterie/s3_secret}
{{- end }}
{{- end }}
- {name: COTERIE_DOWNLOADS, value: {{ .Values.downloads | quote }}}
- {name: COTERIE_METRICS_PORT, value: "9464"}
- {name: COTERIE_METRICS_HOST, value: 0.0.0.0}
- {name: COTERIE_LOG, value: json}
{{- range $name, $value := .Values.settings }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end -}}

{{- define "coterie.mounts" -}}
- {name: secrets, mountPath: /run/secrets/coterie, readOnly: true}
- {name: state, mountPath: /state}
- {name: scratch, mountPath: /tmp}
{{- end -}}

{{- define "coterie.volumes" -}}
- name: secrets
  secret: {secretName: {{ .Values.existingSecret }}, defaultMode: 0440}
- name: state
  emptyDir: {sizeLimit: 1Gi}
{{- end -}}

{{- define "coterie.migrated" -}}
- name: wait-for-migration
  image: {{ include "coterie.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  command: [sh, -c, "until coterie migrate --check >/dev/null 2>&1; do sleep 2; done"]
  env:
    {{- include "coterie.env" . | nindent 4 }}
  securityContext:
    {{- include "coterie.container-security" . | nindent 4 }}
  volumeMounts:
    {{- include "coterie.mounts" . | nindent 4 }}
{{- end -}}

{{- define "coterie.life" -}}
startupProbe:
  httpGet: {path: /livez, port: metrics}
  periodSeconds: 5
  failureThreshold: 24
livenessProbe:
  httpGet: {path: /livez, port: metrics}
  periodSeconds: 15
  timeoutSeconds: 10
  failureThreshold: 3
{{- end -}}

{{/* Names. */}}
{{- define "reelstate.name" -}}
{{- $name := .Release.Name -}}
{{- if not (contains "reelstate" $name) }}{{ $name = printf "%s-reelstate" $name }}{{ end -}}
{{- $name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "reelstate.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{ include "reelstate.selector" . }}
{{- end }}

{{- define "reelstate.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "reelstate.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* What every pod has. root, component, role (its values). */}}
{{- define "reelstate.pod" -}}
enableServiceLinks: false # they would set REEL_… variables for a release of that name
automountServiceAccountToken: {{ .root.Values.automountServiceAccountToken }}
{{- with .root.Values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .role.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .role.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{ include "reelstate.selector" . | nindent 8 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault} # it allows Landlock, the sandbox of ffmpeg
{{- end }}

{{/* What every container has. */}}
{{- define "reelstate.container" -}}
image: {{ include "reelstate.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
envFrom:
  - secretRef: {name: {{ .role.secretName | default .root.Values.secretName | quote }}}
env:
  - {name: REEL_METRICS_HOST, value: "0.0.0.0"}
  {{- range $name, $value := mergeOverwrite (dict) .root.Values.settings (.role.settings | default dict) (.own | default dict) }}
  {{- /* A large number would become 6.8e+10. */}}
  {{- if kindIs "float64" $value }}{{ $value = regexReplaceAll "\\.?0+$" (printf "%.6f" $value) "" }}{{ end }}
  - {name: {{ $name }}, value: {{ $value | toString | quote }}}
  {{- end }}
{{- with .role.resources }}
resources: {{ toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  - {name: data, mountPath: /var/lib/reelstate}
{{- end }}

{{- define "reelstate.metricsProbe" -}}
httpGet: {path: /metrics, port: metrics}
periodSeconds: 20
timeoutSeconds: 5
failureThreshold: 6
{{- end }}

{{- define "reelstate.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "reelstate.name" .root }}-{{ .component }}
  labels: {{ include "reelstate.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{ include "reelstate.selector" . | nindent 6 }}
{{- end }}

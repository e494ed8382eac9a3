{{/* The first part of all names: the release, with the chart's name if the release does not contain it. */}}
{{- define "noughts.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The labels that select the pods of a part. Arguments: the context and the part. */}}
{{- define "noughts.selector" -}}
app.kubernetes.io/name: noughts
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* All labels of an object of a part. Arguments: the context and the part. */}}
{{- define "noughts.labels" -}}
{{ include "noughts.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (index . 0).Chart.Name (index . 0).Chart.Version }}
{{- end -}}

{{/* The image. Arguments: the context and an image that overrides the chart's. */}}
{{- define "noughts.image" -}}
{{- $image := (index . 0).Values.image -}}
{{- $own := index . 1 -}}
{{- $repository := required "image.repository is empty. Fix: build the image from the Dockerfile, push it, and set image.repository." (default $image.repository $own.repository) -}}
{{- printf "%s:%s" $repository (default (default (index . 0).Chart.AppVersion $image.tag) $own.tag) -}}
{{- end -}}

{{- define "noughts.database" -}}
{{- required "database.url is empty. Fix: set it to the PostgreSQL database, e.g. postgresql://noughts@postgres/noughts" .Values.database.url -}}
{{- end -}}

{{/* What all pods have in common. Arguments: the context and the part. */}}
{{- define "noughts.pod" -}}
automountServiceAccountToken: false
# Variables of Services have the prefix NOUGHTS_ of our own ones.
enableServiceLinks: false
# The first process of the pod reaps processes that bots left behind.
shareProcessNamespace: true
{{- with (index . 0).Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{/* Where pods of a part can run. Argument: the values of the part. */}}
{{- define "noughts.scheduling" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The sandbox of bots needs no rights: Landlock and seccomp work without any. */}}
{{- define "noughts.container-security" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{/* Probes at the address of --metrics. Its health fails while the database or the bus is unavailable; a restart would
     not help then, and would end the running games. So only readiness depends on it. */}}
{{- define "noughts.probes" -}}
startupProbe:
  httpGet: {path: /metrics, port: metrics}
  periodSeconds: 2
  timeoutSeconds: 10
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /metrics, port: metrics}
  periodSeconds: 20
  timeoutSeconds: 10
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /health, port: metrics}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end -}}

{{/* Variables of processes that use the database. NOUGHTS_CLUSTER is for commands that users run in a pod. */}}
{{- define "noughts.database-environment" -}}
- name: NOUGHTS_CLUSTER
  value: {{ include "noughts.database" . | quote }}
{{- with .Values.database.passwordSecret }}
{{- if .name }}
- name: PGPASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ .name }}
      key: {{ .key }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Options of servers and referees for the bus. */}}
{{- define "noughts.bus-arguments" -}}
{{- $bus := .Values.bus -}}
{{- $url := required "bus.url is empty. Fix: set it to the NATS of the cluster, e.g. tls://nats:4222" $bus.url -}}
{{- if not (or $bus.insecure $bus.credentialsSecret.name $bus.certificateSecret (contains "@" $url)) -}}
{{- fail "the bus has no credentials, so anyone who can reach it can play as any bot. Fix: set bus.credentialsSecret.name or bus.certificateSecret, or accept the risk with bus.insecure=true." -}}
{{- end -}}
- --bus={{ $url }}
{{- if $bus.credentialsSecret.name }}
- --bus-creds=/etc/noughts/bus-credentials/nats.creds
{{- end }}
{{- if $bus.caSecret.name }}
- --bus-ca=/etc/noughts/bus-ca/ca.crt
{{- end }}
{{- if $bus.certificateSecret }}
- --bus-cert=/etc/noughts/bus-certificate/tls.crt
- --bus-key=/etc/noughts/bus-certificate/tls.key
{{- end }}
{{- end -}}

{{/* Files of servers and referees. Arguments: the context and the size of /tmp; then the same for the pod. */}}
{{- define "noughts.mounts" -}}
- name: tmp
  mountPath: /tmp
{{- include "noughts.database-mounts" . }}
{{- with .Values.bus.credentialsSecret.name }}
- name: bus-credentials
  mountPath: /etc/noughts/bus-credentials
  readOnly: true
{{- end }}
{{- with .Values.bus.caSecret.name }}
- name: bus-ca
  mountPath: /etc/noughts/bus-ca
  readOnly: true
{{- end }}
{{- with .Values.bus.certificateSecret }}
- name: bus-certificate
  mountPath: /etc/noughts/bus-certificate
  readOnly: true
{{- end }}
{{- end -}}

{{- define "noughts.volumes" -}}
{{- include "noughts.database-volumes" . }}
{{- with .Values.bus.credentialsSecret }}
{{- if .name }}
- name: bus-credentials
  secret:
    secretName: {{ .name }}
    items:
      - {key: {{ .key | quote }}, path: nats.creds}
{{- end }}
{{- end }}
{{- with .Values.bus.caSecret }}
{{- if .name }}
- name: bus-ca
  secret:
    secretName: {{ .name }}
    items:
      - {key: {{ .key | quote }}, path: ca.crt}
{{- end }}
{{- end }}
{{- with .Values.bus.certificateSecret }}
- name: bus-certificate
  secret:
    secretName: {{ . }}
{{- end }}
{{- end -}}

{{- define "noughts.database-mounts" -}}
{{- with .Values.database.caSecret.name }}
- name: database-ca
  mountPath: /etc/noughts/database
  readOnly: true
{{- end }}
{{- end -}}

{{- define "noughts.database-volumes" -}}
{{- with .Values.database.caSecret }}
{{- if .name }}
- name: database-ca
  secret:
    secretName: {{ .name }}
    items:
      - {key: {{ .key | quote }}, path: ca.crt}
{{- end }}
{{- end }}
{{- end -}}

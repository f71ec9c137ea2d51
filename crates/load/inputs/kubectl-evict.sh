#!/bin/sh
# kubectl evict POD [-n NAMESPACE]: asks the API server to evict a Pod.
set -eu
pod=$1
shift
namespace=default
while [ $# -gt 0 ]; do
  case $1 in
    -n | --namespace) namespace=$2; shift 2 ;;
    *) shift ;;
  esac
done
printf '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"%s","namespace":"%s"}}' "$pod" "$namespace" |
  kubectl create --raw "/api/v1/namespaces/$namespace/pods/$pod/eviction" -f -

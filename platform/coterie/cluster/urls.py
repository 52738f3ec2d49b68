"""The cluster's part of the REST API."""

from django.urls import path

from coterie.cluster.operator_api import ClusterView

urlpatterns = [path("cluster/", ClusterView.as_view(), name="cluster")]

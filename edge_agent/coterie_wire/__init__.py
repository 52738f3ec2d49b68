"""What platform and device agree on: plan, messages, bundle manifest, tensors, codecs, protocol version."""

// SPDX-License-Identifier: GPL-2.0-or-later

// Reads a KubeletConfiguration from standard input as the kubelet does, strictly, into the types of
// k8s.io/kubelet. Prints what it holds as JSON; exit 1 with the decoder's words where it refuses.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/kubelet/config/v1beta1"
)

func read() (runtime.Object, error) {
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return nil, err
	}
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	found, _, err := codecs.UniversalDeserializer().Decode(text, nil, nil)
	return found, err
}

func main() {
	found, err := read()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(found)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

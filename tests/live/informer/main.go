// Informer runs an informer of ConfigMaps beside writes, against the server of the kubeconfig that its argument names.
// One watch is interrupted, and the next one starts at a resource version that is gone: the informer recovers.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const count = 300

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	// The server has no protobuf, which the typed client prefers.
	config.ContentType = "application/json"
	config.QPS, config.Burst = 1000, 1000
	transport := &interrupted{}
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		transport.RoundTripper = inner
		return transport
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
	informer := factory.Core().V1().ConfigMaps()
	added, deleted := make(chan string, count), make(chan string, count)
	handlers := cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { added <- object.(*v1.ConfigMap).Name },
		DeleteFunc: func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			deleted <- object.(*v1.ConfigMap).Name
		},
	}
	if _, err := informer.Informer().AddEventHandler(handlers); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced) {
		return fmt.Errorf("the informer does not start")
	}
	maps := client.CoreV1().ConfigMaps("default")
	for i := range count {
		object := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("map-%d", i)}}
		if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if err := receive(ctx, added, "additions"); err != nil {
		return err
	}
	if transport.watches < 3 {
		return fmt.Errorf("%d watches: the informer was not interrupted", transport.watches)
	}
	if err := maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	if err := receive(ctx, deleted, "deletions"); err != nil {
		return err
	}
	fmt.Println("all objects seen")
	return nil
}

func receive(ctx context.Context, names chan string, what string) error {
	for i := range count {
		select {
		case <-names:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d %s", i, count, what)
		}
	}
	return nil
}

// Interrupts the first watch of ConfigMaps after some bytes, and starts the next one at a version that is gone.
type interrupted struct {
	http.RoundTripper
	watches int
}

func (i *interrupted) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	if query.Get("watch") == "" {
		return i.RoundTripper.RoundTrip(request)
	}
	i.watches++
	if i.watches == 2 {
		query.Set("resourceVersion", "1")
		request = request.Clone(request.Context())
		request.URL.RawQuery = query.Encode()
	}
	response, err := i.RoundTripper.RoundTrip(request)
	if err == nil && i.watches == 1 {
		response.Body = &limited{response.Body, 40_000}
	}
	return response, err
}

// A body that ends after a number of bytes.
type limited struct {
	io.ReadCloser
	rest int
}

func (l *limited) Read(buffer []byte) (int, error) {
	if l.rest <= 0 {
		return 0, io.EOF
	}
	n, err := l.ReadCloser.Read(buffer)
	l.rest -= n
	return n, err
}

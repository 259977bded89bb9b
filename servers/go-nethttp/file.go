package main

import (
	cryptorand "crypto/rand"
	"math/rand"
	"net/http"
	"os"
	"strings"
)

const (
	fileLength = 108_000
	lowestCode = 65
	codes      = 57
)

// writtenAndRead fills a new file in the folder with random characters, reads it back and removes it.
func writtenAndRead(folder string) job {
	return func(r *http.Request) ([]byte, error) {
		content, err := randomContent(r.URL.Query().Get("fill"))
		if err != nil {
			return nil, err
		}
		file, err := os.CreateTemp(folder, "file-*")
		if err != nil {
			return nil, err
		}
		defer os.Remove(file.Name())
		_, err = file.WriteString(content)
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return nil, err
		}
		return os.ReadFile(file.Name())
	}
}

func randomContent(fill string) (string, error) {
	switch fill {
	case "", "each":
		return oneByOne(), nil
	case "bulk":
		return allAtOnce()
	default:
		return "", badParameter("fill must be each or bulk")
	}
}

func oneByOne() string {
	var content strings.Builder
	for length := 0; length < fileLength; length++ {
		content.WriteByte(byte(rand.Intn(codes) + lowestCode))
	}
	return content.String()
}

func allAtOnce() (string, error) {
	content := make([]byte, fileLength)
	if _, err := cryptorand.Read(content); err != nil {
		return "", err
	}
	for at, code := range content {
		content[at] = code%codes + lowestCode
	}
	return string(content), nil
}

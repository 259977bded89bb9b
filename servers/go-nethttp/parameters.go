package main

import (
	"fmt"
	"net/url"
	"strconv"
)

// badParameter says what a parameter must be; the answer to it is status 400.
type badParameter string

func (message badParameter) Error() string { return string(message) }

// wholeNumber is the parameter's value, or otherwise where the query has none.
func wholeNumber(query url.Values, name string, least, most, otherwise int) (int, error) {
	text := query.Get(name)
	if text == "" {
		return otherwise, nil
	}
	value, err := strconv.ParseUint(text, 10, 32)
	if err != nil || int(value) < least || int(value) > most {
		return 0, badParameter(fmt.Sprintf("%s must be a whole number from %d to %d", name, least, most))
	}
	return int(value), nil
}

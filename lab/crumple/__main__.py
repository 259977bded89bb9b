"""`python -m crumple`: the same as `crumple`."""

from crumple.start import main

if __name__ == "__main__":
    main()

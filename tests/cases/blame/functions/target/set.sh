#!/bin/sh
exec sed -e 's/colour: red/colour: blue/' -e '/goes: away/d' -e 's/^\( *\)stays: s/\1added: new\n&/'

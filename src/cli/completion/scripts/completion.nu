# Completion of @NAME@ for nushell. Save it in a directory of $nu.user-autoload-dirs:
#   @NAME@ completion nushell | save -f ($nu.user-autoload-dirs.0 | path join @NAME@.nu)

def "nu-complete @NAME@" [context: string] {
    let words = ($context | split row --regex '\s+' | skip 1)
    let answer = (^@NAME@ __complete ...$words | complete | get stdout | lines)
    let directive = ($answer | last | default ':4')
    let values = ($answer | drop 1 | each {|line|
        let parts = ($line | split row "\t")
        {value: ($parts | first), description: ($parts | skip 1 | str join ' ')}
    })
    # Without a value, nushell completes files.
    if ($values | is-empty) and $directive in [':0' ':16'] { null } else { $values }
}

export extern "@NAME@" [
    ...words: string@"nu-complete @NAME@"
]

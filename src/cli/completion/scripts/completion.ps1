# Completion of @NAME@ for PowerShell. Load it in $PROFILE:
#   @NAME@ completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName '@NAME@' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements |
        Where-Object { $_.Extent.StartOffset -lt $cursorPosition } |
        ForEach-Object { if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text } })
    $program = $words[0]
    $before = @($words | Select-Object -Skip 1)
    if ($wordToComplete -eq '') {
        $before += ''
    }
    # Windows PowerShell drops empty arguments unless they are quoted.
    if ($PSVersionTable.PSVersion.Major -lt 7) {
        $before = @($before | ForEach-Object { if ($_ -eq '') { '""' } else { $_ } })
    }
    $answer = @(& $program __complete @before 2>$null)
    if ($answer.Count -lt 2) {
        return
    }
    $answer | Select-Object -SkipLast 1 | ForEach-Object {
        $value, $description = $_ -split "`t", 2
        if (-not $description) { $description = $value }
        [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $description)
    }
}

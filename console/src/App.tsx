import { useComputed } from "@preact/signals"
import { useErrorBoundary, useLayoutEffect, useState } from "preact/hooks"
import { Problem } from "./Client.ts"
import { useLoad } from "./Load.ts"
import { Navigation } from "./Navigation.tsx"
import { route } from "./Router.ts"
import { current, handovers, isInterrupted, loadWorkspaces, workspaces } from "./Session.ts"
import { SignIn, SignInAgain } from "./SignIn.tsx"
import { Button } from "./ui/Button.tsx"
import { Notice, ProblemNotice } from "./ui/Notice.tsx"
import { Empty, Loading, Page } from "./ui/Page.tsx"
import { loaded, loadView, type View, viewOf } from "./Views.ts"

/** Signed in or not: everything but the sign-in has the workspaces first. */
export const App = () => {
  const isSignIn = useComputed(() => route.value.path[0] === "sign-in")
  if (isSignIn.value) return <SignIn />
  return (
    <>
      <Signed key={handovers.value} />
      {isInterrupted.value && <SignInAgain />}
    </>
  )
}

const Signed = () => {
  const { problem, reload } = useLoad("workspaces", loadWorkspaces)
  const { value: workspace } = current
  return (
    <div class="shell">
      <Button class="skip" onClick={skip}>
        Skip to the content
      </Button>
      <Navigation />
      <main id="main" tabIndex={-1}>
        {workspace === undefined ? (
          <Without problem={problem} reload={reload} />
        ) : (
          <Shown key={workspace.id} view={viewOf(route.value.path)} />
        )}
      </main>
    </div>
  )
}

/** Hashes are addresses of views here, so this is no link. */
const skip = () => document.getElementById("main")?.focus()

const Without = ({
  problem,
  reload
}: {
  readonly problem: Problem | undefined
  readonly reload: () => void
}) => {
  if (problem !== undefined) return <ProblemNotice problem={problem} onRetry={reload} />
  if (workspaces.value === undefined) return <Loading rows={8} />
  return (
    <Page title="No workspace">
      <Empty title="You are in no workspace.">
        <p>Ask an owner of one to add you, or make one with the command line of agentd.</p>
      </Empty>
    </Page>
  )
}

/** A view, loaded when it is first looked at. */
const Shown = ({ view }: { readonly view: View | undefined }) => {
  const [, setLoaded] = useState<View>()
  const [problem, setProblem] = useState<Problem>()
  const Shows = view === undefined ? undefined : loaded.get(view)
  useLayoutEffect(() => {
    let isLeft = false
    setProblem(undefined)
    if (view === undefined || loaded.has(view)) return
    loadView(view).then(
      () => {
        if (!isLeft) setLoaded(view)
      },
      () => {
        if (!isLeft) setProblem(new Problem("Outdated", "This part of the console can't be loaded."))
      }
    )
    return () => {
      isLeft = true
    }
  }, [view])

  if (view === undefined) {
    return (
      <Page title="Not found">
        <Empty title="There is no such view." />
      </Page>
    )
  }
  if (problem !== undefined) {
    return (
      <Notice kind="bad" title={problem.message}>
        agentd may have been updated meanwhile. <Button onClick={() => location.reload()}>Reload</Button>
      </Notice>
    )
  }
  if (Shows === undefined) return <Loading rows={8} />
  return (
    <Guarded key={view.path}>
      <Shows />
    </Guarded>
  )
}

/** Says that a view broke, instead of showing nothing. */
const Guarded = ({ children }: { readonly children: preact.ComponentChildren }) => {
  const [error, reset] = useErrorBoundary()
  if (error === undefined) return <>{children}</>
  return (
    <Notice kind="bad" title="This view broke.">
      {error instanceof Error ? error.message : String(error)} <Button onClick={reset}>Show it again</Button>
    </Notice>
  )
}

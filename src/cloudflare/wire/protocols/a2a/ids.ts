/** A task is a run, with the runs that go on with it: its id names the session's object and the number of the run. */
export interface TaskPlace {
	readonly session: string;
	readonly run: number;
}

export function formatTaskId({ session, run }: TaskPlace): string {
	return `${session}-${run}`;
}

/** Parses the id of a task. Returns undefined for any other text. */
export function parseTaskId(id: string): TaskPlace | undefined {
	const [, session, run] = /^([0-9a-f]{64})-([1-9]\d{0,11})$/.exec(id) ?? [];
	return session === undefined ? undefined : { session, run: Number(run) };
}

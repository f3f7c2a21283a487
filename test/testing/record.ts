import { env } from 'cloudflare:test';
import { compareReplay } from '../../src/replay/replay.ts';
import { writeReport } from '../../src/replay/report.ts';
import worker, { runtime } from '../worker.ts';

/** Records a session of the Worker under test, with its children. */
export async function record(id: string): Promise<object> {
	// Directly to the app, because requests to the Worker get slower.
	const exported = await (await worker.request(`/v1/sessions/${id}/export`, undefined, env)).json<{
		session: { children?: readonly { id: string }[] };
	}>();
	const children = await Promise.all((exported.session.children ?? []).map((child) => record(child.id)));
	return { recording: 1, ...exported, ...(children.length > 0 && { children }) };
}

/** Replays a session with the unchanged agents. Returns the report of the first difference. */
export async function replaySession(id: string): Promise<string | undefined> {
	const { divergence } = await compareReplay(await record(id), { agents: runtime.agents });
	return divergence && writeReport(divergence);
}

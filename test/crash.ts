import type { CrashPoint } from '../src/cloudflare/agent/crash.ts';

let current: CrashPoint = () => {};
const objects = new Map<string, DurableObjectState>();

/** What happens when a run of the Worker under test has just written; without a handler it goes on. */
export function atCrashPoint(handler: CrashPoint = () => {}): void {
	current = handler;
}

/** The crash points of the Worker under test. */
export const crashPoint: CrashPoint = (point, about) => current(point, about);

/** Makes an object one that can be killed from within. */
export function makeMortal(ctx: DurableObjectState): void {
	objects.set(ctx.id.toString(), ctx);
}

/** Kills the object that asks for it: after its last write, or before that is durable, which loses it. Never comes back. */
export async function die(session: string, { isDurable }: { readonly isDurable: boolean }): Promise<never> {
	const ctx = objects.get(session);
	if (isDurable) await ctx?.storage.sync();
	ctx?.abort('it died');
	return new Promise<never>(() => {});
}

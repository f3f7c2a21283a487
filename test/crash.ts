import type { CrashPoint } from '../src/cloudflare/agent/runtime.ts';

let current: CrashPoint = () => {};
const objects = new Map<string, DurableObjectState>();

/** Handles the crash points of the Worker under test. Without a handler the run continues. */
export function atCrashPoint(handler: CrashPoint = () => {}): void {
	current = handler;
}

export const crashPoint: CrashPoint = (point, about) => current(point, about);

/** Registers an object, so that `die` can kill it. */
export function makeMortal(ctx: DurableObjectState): void {
	objects.set(ctx.id.toString(), ctx);
}

/**
 * Kills the calling object after its last write. Unless `isDurable` is true, the kill comes before the write is
 * durable, and the write is lost. Never returns.
 */
export async function die(session: string, { isDurable }: { readonly isDurable: boolean }): Promise<never> {
	const ctx = objects.get(session);
	if (isDurable) await ctx?.storage.sync();
	ctx?.abort('it died');
	return new Promise<never>(() => {});
}

/** `providers`: who can talk to which model. Each is a function that gives a `ProviderRegistration`. */

export { type DemoOptions, demo } from './demo.ts';
export {
	type ScriptedFn,
	type ScriptedProvider,
	type ScriptedReply,
	type ScriptedRequest,
	type ScriptedTurn,
	scripted,
} from './scripted.ts';

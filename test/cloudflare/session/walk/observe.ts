/** Compares the records of tools, models, policies and resolvers with the model of the walk. */
import { type Observation, type PolicyObservation, takeSeen } from './agents.ts';
import { look, type State } from './look.ts';
import { isEqual, type Person, toName } from './persons.ts';
import { remembers, type Session } from './truth.ts';
import type { Walk } from './walk.ts';

/** The records of tools and models in a step. */
export interface Seen {
	readonly tools: readonly Observation[];
	readonly models: readonly Observation[];
}

/** Compares the new records with the model. */
export async function observe(walk: Walk): Promise<Seen> {
	const { tools, models, policies, skills } = takeSeen();
	const sessions = new Set<Session>();
	for (const told of [...tools, ...models, ...policies]) {
		const session = await findTold(walk, told);
		sessions.add(session);
		checkTold(walk, told, session);
	}
	for (const told of [...tools, ...models]) checkAsker(walk, told);
	for (const asked of policies) checkPolicy(walk, asked);
	for (const told of skills) checkSkills(walk, told, sessions);
	return { tools, models };
}

/** Checks that a record has the person of its session, and no text of anybody else. */
function checkTold(walk: Walk, told: Observation, session: Session): void {
	const whose = toName(session);
	const facts = `${told.what} in ${session.id}`;
	const isWhose = told.owner === session.owner && told.user === session.user;
	walk.check(isWhose, `${facts} of ${whose} was told ${told.owner}/${told.user}`);
	for (const mark of told.marks)
		walk.check(mark.slice(3, 8) === whose, `${facts} of ${whose} was given ${mark}, the text of somebody else`);
	const isSame = isEqual(told.metadata ?? {}, session.metadata);
	walk.check(isSame, `${facts} was told the metadata ${JSON.stringify(told.metadata)}`);
	walk.check(isExpected(told.error, session), `${facts}: ${told.error}`);
}

function checkAsker(walk: Walk, { what, sessionId = '', askedBy }: Observation): void {
	const expected = walk.find(sessionId)?.askedBy;
	const said = `${what} in ${sessionId}: asked by ${JSON.stringify(askedBy)}`;
	walk.check(isEqual(askedBy, expected), `${said} in place of ${JSON.stringify(expected)}`);
}

/** Checks that a policy got all askers, and no asker of another owner. */
function checkPolicy(walk: Walk, { what, by, askers, sessionId = '' }: PolicyObservation): void {
	const session = walk.find(sessionId);
	const missing = session?.askers.filter((asker) => !askers.some((one) => isEqual(one, asker))) ?? [];
	const told = `The policy of ${what} was told of ${JSON.stringify(askers)}`;
	walk.check(missing.length === 0, `${told}, and not of ${JSON.stringify(missing)}`);
	const isTheirs = [by, ...askers].every(({ owner }) => owner === session?.owner);
	walk.check(isTheirs, `The policy of ${what} was told of another owner: ${JSON.stringify([by, askers])}`);
}

/** Checks that a resolver got the person of the session, or the caller of a request over MCP. */
function checkSkills(walk: Walk, told: Observation, sessions: ReadonlySet<Session>): void {
	const { askedBy } = told;
	const isTold = ({ owner, user }: Person) => told.owner === owner && told.user === user;
	const isKnown = sessions.size === 0 || [...sessions].some(isTold) || (askedBy?.via === 'mcp' && isTold(askedBy));
	const isOwners = told.what === `skills of ${told.owner}` && (askedBy?.owner ?? told.owner) === told.owner;
	walk.check(isOwners && isKnown, `The resolver was told ${JSON.stringify(told)}`);
}

/** Finds the session of a record. If it is a new child, the walk learns of it from its parent. */
async function findTold(walk: Walk, { sessionId = '', what }: Observation): Promise<Session> {
	const known = walk.find(sessionId);
	if (known !== undefined) return known;
	const answer = await walk.ask(walk.operator, `/v1/sessions/${sessionId}`, { isForOperators: true });
	const parent = walk.find(answer.status === 200 ? (answer.json<State>().parent?.id ?? '') : '');
	if (parent !== undefined) await look(walk, parent);
	return walk.find(sessionId) ?? walk.fail(`${what} ran in ${sessionId}, which nobody has made: ${answer.text}`);
}

/** Whether a call may have failed like this: somebody denied it, or the session has no memory. */
function isExpected(error: string | undefined, session: Session): boolean {
	if (error === undefined || error.startsWith('A person did not allow')) return true;
	return error.startsWith('There is no tool named remember') && !remembers(session);
}

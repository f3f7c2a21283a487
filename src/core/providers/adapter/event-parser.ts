/**
 * The parser of event streams. The package holds a copy (scripts/pack/copies.ts): it requires a newer Node than Runlet.
 */
export { createParser } from 'eventsource-parser';
